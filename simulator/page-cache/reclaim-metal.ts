import type { Budget } from './budget.ts';
import { createLru } from './reclaim-lru.ts';
import type { Reclaimer } from './reclaimer.ts';
import { type CacheState, residentBytes } from './state.ts';

/**
 * macOS with Metal: nothing is dropped while there is room; the first extent without room makes all go at once, so that
 * a share larger than the memory is "repeatedly reloaded and released" as a whole (prima.cpp A.3, Eq. 16).
 */
export function createMetal(state: CacheState, budget: Budget): Reclaimer {
  const { lists, extentBytes } = state;
  return {
    ...createLru(state, budget),
    touch: () => {},
    populate: () => {},
    reclaim: () => {
      while (lists.inactive.oldest !== undefined) {
        state.drop(lists.inactive.oldest, Number.POSITIVE_INFINITY, 'reclaimed');
      }
    },
    atOnce: () => {
      const free = budget.capacity() - residentBytes(state) - lists.reading.bytes;
      return Math.max(1, Math.floor(free / extentBytes));
    },
  };
}
