import { Piscina } from 'piscina';
import type { Judged } from './judge.ts';
import type { SweepSetting } from './sweeper.ts';

/** Plans that a worker judges between two messages: a fraction of a second. */
const BATCH = 32;

/** Batches under way or done per worker: what waits for a slow one before it stays small. */
const AHEAD = 3;

export interface Batch {
  readonly numbers: Float64Array;
  readonly judged: readonly Judged[];
}

/**
 * Judges plans on several threads. Batches come in the order of the numbers, whichever thread is first; no more are
 * under way than a few per worker, so that memory stays flat. Leaving the loop early ends the threads.
 */
export async function* judgeInParallel(
  setting: SweepSetting,
  numbers: Float64Array,
  workers: number,
): AsyncGenerator<Batch> {
  const pool = new Piscina<Float64Array, Judged[]>({
    filename: new URL('./worker.ts', import.meta.url).href,
    workerData: setting,
    execArgv: ['--import', import.meta.resolve('tsx')],
    minThreads: workers,
    maxThreads: workers,
  });
  const under: { readonly numbers: Float64Array; readonly judged: Promise<Judged[]> }[] = [];
  const first = async (): Promise<Batch> => {
    const { numbers, judged } = under.shift() as (typeof under)[number];
    return { numbers, judged: await judged };
  };
  try {
    for (let from = 0; from < numbers.length; from += BATCH) {
      const batch = numbers.slice(from, from + BATCH);
      const judged = pool.run(batch);
      // A batch that fails while an earlier one is awaited is heard of when its turn comes.
      judged.catch(() => {});
      under.push({ numbers: batch, judged });
      if (under.length >= AHEAD * workers) yield await first();
    }
    while (under.length > 0) yield await first();
  } finally {
    // Threads that are ended in the middle of a batch may still send it, to a pool that has forgotten it.
    await Promise.allSettled(under.map(({ judged }) => judged));
    await pool.destroy();
  }
}
