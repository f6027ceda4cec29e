import type { Executor, Part } from './sweep.ts';
import { createThreads, type RangeResult, type ThreadsOptions } from './threads.ts';

/** Seconds of work between two messages of a thread. */
const CHUNK_SECONDS = 0.1;

/** Chunks pending or finished per thread: few results have to wait for a slow earlier chunk. */
const AHEAD = 3;

/**
 * Computes points on threads of this machine. Only a few chunks per thread are pending, so memory use stays constant.
 */
export function localExecutor(options: ThreadsOptions): Executor {
  return {
    async *results(sweep, done) {
      const threads = createThreads(sweep, options);
      const pending: { readonly from: number; readonly result: Promise<RangeResult> }[] = [];
      let chunk = sweep.block;
      const first = async (): Promise<Part> => {
        const { from, result } = pending.shift() as (typeof pending)[number];
        const { lines, seconds } = await result;
        const wanted = Math.round((CHUNK_SECONDS * lines.length) / Math.max(seconds, 1e-6));
        chunk = Math.max(1, Math.min(wanted, 2 * chunk));
        return { from, lines };
      };
      try {
        for (let from = done; from < sweep.count; ) {
          const to = Math.min(from + chunk, sweep.count);
          const result = threads.compute(from, to);
          // If a chunk fails while an earlier one is awaited, the error is thrown when its turn comes.
          result.catch(() => {});
          pending.push({ from, result });
          from = to;
          if (pending.length >= AHEAD * options.threads) yield await first();
        }
        while (pending.length > 0) yield await first();
      } finally {
        // A thread that is terminated during a chunk may still send its result, which the pool no longer expects.
        await Promise.allSettled(pending.map(({ result }) => result));
        await threads.close();
      }
    },
  };
}
