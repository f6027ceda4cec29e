import { createGenerationalLru } from './reclaim-generations.ts';
import { createTwoLists } from './reclaim-linux.ts';
import type { Reclaimer, ReclaimerParts } from './reclaimer.ts';
import { NO_MARKS, type Run } from './runs.ts';
import { type Budget, type CacheState, chargedBytes, evictableExtents, residentBytes } from './state.ts';

/** The reclaim policy that evicts extents of one cache when memory is short. */
export function createReclaimer(parts: ReclaimerParts): Reclaimer {
  const { parameters, state, budget } = parts;
  switch (parameters.kind) {
    case 'linux':
      return createLru(state, budget);
    case 'linux-two-list':
      return createTwoLists(parts);
    case 'mglru':
      return createGenerationalLru(parts);
    case 'overflow':
      return createOverflow(state, budget);
    case 'metal':
      return createMetal(state, budget);
  }
}

/**
 * Strict LRU: an extent that is read or used becomes the most recent, and the least recent is evicted first. Reading
 * more than fits in a cycle therefore evicts each extent just before it is needed, and reloads everything.
 */
export function createLru(state: CacheState, budget: Budget): Reclaimer {
  const { lists, runs, extentBytes } = state;
  const toNewest = (run: Run): void => runs.toNewest(run, lists.inactive);
  return {
    charged: () => chargedBytes(state),
    begin: (span) => runs.add(span, lists.reading, NO_MARKS),
    admit: toNewest,
    touch: toNewest,
    populate: toNewest,
    enter: () => {},
    unmap: () => {},
    spared: () => 0,
    reclaim: (excess) => {
      for (let left = excess; left > 0 && lists.inactive.oldest !== undefined; ) {
        left -= state.drop(lists.inactive.oldest, Math.ceil(left / extentBytes), 'reclaimed');
      }
    },
    atOnce: () => evictableExtents(state, budget),
  };
}

/**
 * macOS with Metal: nothing is evicted while there is room, and the first extent without room evicts everything, so
 * that a share larger than the memory is "repeatedly reloaded and released" as a whole (prima.cpp A.3, Eq. 16).
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

/**
 * The ideal that prima.cpp's Eq. 15 describes: what came first stays and what exceeds the memory passes through, so
 * that a cycle over S bytes in A bytes of memory reloads max(S − A, 0) exactly, with or without prefetching. Bytes that
 * pass through are in memory from their read to their first use in addition to the limit: no policy within the limit reloads as
 * little.
 */
export function createOverflow(state: CacheState, budget: Budget): Reclaimer {
  const { lists, runs, extentBytes, bytesOf } = state;

  /** Number of a run's extents that fit, in order, after other apps have been swapped out. */
  const fitting = ({ from, to }: Run): number => {
    const room = (): number => budget.capacity() - lists.inactive.bytes - lists.pinned.bytes;
    budget.swapOut(bytesOf(from, to) - room());
    const left = room();
    return bytesOf(from, to) <= left ? to - from : Math.max(0, Math.floor(left / extentBytes));
  };

  /** Keeps what fits of a run; returns the rest, or `undefined` if all of it fits. */
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
