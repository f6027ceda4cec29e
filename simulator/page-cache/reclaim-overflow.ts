import type { Budget } from './budget.ts';
import type { Reclaimer } from './reclaimer.ts';
import { NO_MARKS, type Run } from './runs.ts';
import type { CacheState } from './state.ts';

/**
 * The ideal that prima.cpp's Eq. 15 describes: what came first stays, what exceeds the memory passes through, so that a
 * cycle over S bytes in A reloads max(S − A, 0) exactly, whether or not it is prefetched. Bytes that pass through are
 * in memory from the read to their first use beside the limit: no policy within the limit reloads as little.
 */
export function createOverflow(state: CacheState, budget: Budget): Reclaimer {
  const { lists, runs, extentBytes, bytesOf } = state;

  /** How many of a run's extents fit, in order, after other apps have been swapped out. */
  const fitting = ({ from, to }: Run): number => {
    const room = (): number => budget.capacity() - lists.inactive.bytes - lists.pinned.bytes;
    budget.swapOut(bytesOf(from, to) - room());
    const left = room();
    return bytesOf(from, to) <= left ? to - from : Math.max(0, Math.floor(left / extentBytes));
  };

  /** Keeps what fits of a run; returns the rest, or undefined if all fits. */
  const keep = (run: Run): Run | undefined => {
    const { from, to } = run;
    const extents = fitting(run);
    if (extents === 0) return run;
    const rest = extents < to - from ? runs.cut(run, from + extents, to) : undefined;
    runs.toNewest(run, lists.inactive);
    return rest;
  };

  const touch = (run: Run): void => {
    const rest = run.list === lists.passing ? keep(run) : undefined;
    if (rest !== undefined) state.drop(rest, Number.POSITIVE_INFINITY, 'reclaimed');
  };

  return {
    charged: () => lists.inactive.bytes + lists.pinned.bytes,
    begin: (span) => runs.add(span, lists.reading, NO_MARKS),
    admit: (run) => {
      const rest = keep(run);
      if (rest !== undefined) runs.toNewest(rest, lists.passing);
    },
    touch,
    populate: touch,
    enter: () => {},
    unmap: () => {},
    spared: () => 0,
    reclaim: (excess) => {
      for (let left = excess; left > 0 && lists.inactive.newest !== undefined; ) {
        const { newest } = lists.inactive;
        const extents = Math.min(newest.to - newest.from, Math.ceil(left / extentBytes));
        left -= state.drop(runs.cut(newest, newest.to - extents, newest.to), extents, 'reclaimed');
      }
    },
    atOnce: () => Number.POSITIVE_INFINITY,
  };
}
