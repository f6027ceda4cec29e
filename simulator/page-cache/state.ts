import type { History } from './history.ts';
import { createRunList, createRunMap, type Run, type RunList, type RunMap } from './runs.ts';

/** Bytes since the beginning. read = resident + being read + reclaimed + released, at any time. */
export interface PageCacheCounters {
  /** Asked of the disk. */
  readonly read: number;
  /** Of those, what had been in memory before. */
  readonly reloaded: number;
  /** Of those, what the OS had reclaimed: the kernel's workingset_refault_file. */
  readonly refaulted: number;
  /** Dropped by the OS. */
  readonly reclaimed: number;
  /** Dropped on request. */
  readonly released: number;
}

/**
 * Where extents are:
 * - `reading`: on their way from the disk, can't be dropped;
 * - `pinned`: never dropped;
 * - `passing`: read, not used yet, and to be dropped once used (only the overflow policy has such);
 * - `inactive`: may be reclaimed; where a policy has one list, this is it;
 * - `active`: may be reclaimed once it has become inactive.
 */
export type ListName = 'reading' | 'pinned' | 'passing' | 'inactive' | 'active';

/** What a page cache consists of, and what its policies work on. */
export interface CacheState {
  /** Of the whole file. */
  readonly extents: number;
  readonly extentBytes: number;
  readonly lists: Readonly<Record<ListName, RunList>>;
  readonly runs: RunMap;
  readonly history: History;
  readonly counters: { -readonly [key in keyof PageCacheCounters]: number };
  /** Counts extents reclaimed, and promoted by a policy that has an active list (the kernel's nonresident_age). */
  age: number;
  /** Bytes that a computation has mapped, having found them in memory in single pages. */
  mapped: number;
  /** Size of the extents from one to, not including, another; the file's last extent may be short. */
  bytesOf(from: number, to: number): number;
  /** Drops a run's first extents, or the whole of it; returns their bytes. */
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

/** Bytes in memory, whether they may be dropped or not. */
export function residentBytes({ lists }: CacheState): number {
  return lists.pinned.bytes + lists.passing.bytes + lists.inactive.bytes + lists.active.bytes;
}
