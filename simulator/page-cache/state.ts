import type { History } from './history.ts';
import { createRunList, createRunMap, type Run, type RunList, type RunMap } from './runs.ts';

/** Bytes since the beginning. At any time, read = resident + being read + reclaimed + released. */
export interface PageCacheCounters {
  /** Requested from the disk. */
  readonly read: number;
  /** The part of `read` that had been in memory before. */
  readonly reloaded: number;
  /** The part of `reloaded` that the operating system had reclaimed: Linux's workingset_refault_file. */
  readonly refaulted: number;
  /** Evicted by the operating system. */
  readonly reclaimed: number;
  /** Released on request. */
  readonly released: number;
}

/**
 * The places of extents:
 * - `reading`: being read from the disk, can't be evicted;
 * - `pinned`: never evicted;
 * - `passing`: read, not used yet, and to be evicted once used (only with the overflow policy);
 * - `inactive`: may be reclaimed; the list of policies that have only one;
 * - `active`: may be reclaimed once it has become inactive.
 */
export type ListName = 'reading' | 'pinned' | 'passing' | 'inactive' | 'active';

/** Generations that exist at most (MAX_NR_GENS, include/linux/mmzone.h). */
export const MOST_GENERATIONS = 4;

/** The contents of a page cache, which its policies work on. */
export interface CacheState {
  /** Extents of the whole file. */
  readonly extents: number;
  readonly extentBytes: number;
  readonly lists: Readonly<Record<ListName, RunList>>;
  /** MGLRU's generations, a ring: generation `seq` is at `seq` modulo their number. Empty under other policies. */
  readonly generations: readonly RunList[];
  readonly runs: RunMap;
  readonly history: History;
  readonly counters: { -readonly [key in keyof PageCacheCounters]: number };
  /** Extents reclaimed so far, and promoted by a policy with an active list (Linux's nonresident_age). */
  age: number;
  /** Bytes that computations have mapped after finding them in memory in single pages. */
  mapped: number;
  /** Size of the extents from one to, not including, another; the file's last extent may be short. */
  bytesOf(from: number, to: number): number;
  /** Removes a run's first extents, or the whole run, from memory; returns their bytes. */
  drop(run: Run, extents: number, cause: 'reclaimed' | 'released'): number;
}

export function createCacheState(size: number, extentBytes: number, history: History): CacheState {
  const bytesOf = (from: number, to: number): number => Math.min(size, to * extentBytes) - from * extentBytes;
  const runs = createRunMap(bytesOf);
  const counters = { read: 0, reloaded: 0, refaulted: 0, reclaimed: 0, released: 0 };
  const state: CacheState = {
    extents: Math.ceil(size / extentBytes),
    extentBytes,
    lists: {
      reading: createRunList(),
      pinned: createRunList(),
      passing: createRunList(),
      inactive: createRunList(),
      active: createRunList(),
    },
    generations: Array.from({ length: MOST_GENERATIONS }, createRunList),
    runs,
    history,
    counters,
    age: 0,
    mapped: 0,
    bytesOf,
    drop: (run, extents, cause) => {
      const { from } = run;
      const to = Math.min(run.to, from + extents);
      const bytes = bytesOf(from, to);
      runs.remove(run, extents);
      history.record({ from, to, age: cause === 'reclaimed' ? state.age : undefined });
      if (cause === 'reclaimed') state.age += to - from;
      counters[cause] += bytes;
      return bytes;
    },
  };
  return state;
}

/** Bytes in memory, whether they may be evicted or not. */
export function residentBytes({ lists, generations }: CacheState): number {
  let bytes = lists.pinned.bytes + lists.passing.bytes + lists.inactive.bytes + lists.active.bytes;
  for (const generation of generations) bytes += generation.bytes;
  return bytes;
}

/** Bytes that count against the capacity where everything in memory or being read does. */
export function chargedBytes(state: CacheState): number {
  return residentBytes(state) + state.lists.reading.bytes;
}

/** Extents, at least 1, that are left when everything that can be evicted is. */
export function evictableExtents({ lists, extentBytes }: CacheState, budget: Budget): number {
  const room = budget.capacity() - lists.pinned.bytes - lists.reading.bytes;
  return Math.max(1, Math.floor(room / extentBytes));
}

/** Memory that the pages of one file may take, and what is swapped out for them. */
export interface Budget {
  /** Bytes: the limit less the overhead, at least 0, plus what was swapped out. */
  capacity(): number;
  /**
   * Makes room for `excess` bytes (none if negative) by swapping out cold pages of other apps, at most
   * min(d^bytes_can_swap, d^swap_avail) bytes over a run (prima.cpp Eq. 17). They stay swapped out.
   * @returns bytes for which there is still no room
   */
  swapOut(excess: number): number;
  swappedOut(): number;
  setLimit(limit: number): void;
}

/**
 * @param swappedOut bytes that were swapped out before
 * @throws RangeError for a limit that is negative or not a number
 */
export function createBudget(limit: number, overhead: number, swappable: number, swappedOut = 0): Budget {
  let allowed = checked(limit);
  let swapped = swappedOut;
  return {
    capacity: () => Math.max(0, allowed - overhead) + swapped,
    swapOut: (excess) => {
      const bytes = Math.max(0, Math.min(excess, swappable - swapped));
      swapped += bytes;
      return excess - bytes;
    },
    swappedOut: () => swapped,
    setLimit: (next) => {
      allowed = checked(next);
    },
  };
}

function checked(limit: number): number {
  if (!(limit >= 0)) throw new RangeError(`limit is ${limit}; it must be 0 bytes or more`);
  return limit;
}
