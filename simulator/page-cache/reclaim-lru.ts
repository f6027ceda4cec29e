import type { Budget } from './budget.ts';
import type { Reclaimer } from './reclaimer.ts';
import { NO_MARKS } from './runs.ts';
import { type CacheState, residentBytes } from './state.ts';

/**
 * Strict LRU: a read or used extent becomes the most recent, the least recent is dropped first. Reading more than fits
 * in a cycle therefore drops each extent just before its turn, and reloads everything.
 */
export function createLru(state: CacheState, budget: Budget): Reclaimer {
  const { lists, runs, extentBytes } = state;
  return {
    charged: () => residentBytes(state) + lists.reading.bytes,
    begin: (span) => runs.add(span, lists.reading, NO_MARKS),
    admit: (run) => runs.toNewest(run, lists.inactive),
    touch: (run) => runs.toNewest(run, lists.inactive),
    populate: (run) => runs.toNewest(run, lists.inactive),
    enter: () => {},
    unmap: () => {},
    spared: () => 0,
    reclaim: (excess) => {
      for (let left = excess; left > 0 && lists.inactive.oldest !== undefined; ) {
        left -= state.drop(lists.inactive.oldest, Math.ceil(left / extentBytes), 'reclaimed');
      }
    },
    atOnce: () => {
      const room = budget.capacity() - lists.pinned.bytes - lists.reading.bytes;
      return Math.max(1, Math.floor(room / extentBytes));
    },
  };
}
