import type { Span } from './extents.ts';
import { NO_MARKS, type Run } from './runs.ts';
import type { CacheState } from './state.ts';

/**
 * The contents of a page cache between two operations, as plain data: a cache that is created with it goes on as the one that
 * was saved would have, but counts from 0, and is to be given its pins anew. Two saved caches with the same JSON behave alike.
 */
export interface SavedPages {
  /** Extents in memory by list, the least recent first. */
  readonly pinned: readonly Span[];
  readonly passing: readonly Span[];
  readonly inactive: readonly Span[];
  /** The extent that triggers the next readahead. */
  readonly marker: number;
  readonly swappedOut: number;
}

const LISTS = ['pinned', 'passing', 'inactive'] as const;

/** The lists of a cache whose policy keeps no marks, and in which nothing is being read. */
export function saveLists({ lists }: CacheState): Pick<SavedPages, (typeof LISTS)[number]> {
  const spansOf = (name: (typeof LISTS)[number]): Span[] => {
    const spans: Span[] = [];
    for (let run: Run | undefined = lists[name].oldest; run !== undefined; run = run.newer) {
      const last = spans.at(-1);
      if (last?.to === run.from) last.to = run.to;
      else spans.push({ from: run.from, to: run.to });
    }
    return spans;
  };
  return { pinned: spansOf('pinned'), passing: spansOf('passing'), inactive: spansOf('inactive') };
}

/** Fills the lists of an empty cache. */
export function restoreLists({ lists, runs }: CacheState, saved: SavedPages): void {
  for (const name of LISTS) for (const span of saved[name]) runs.add(span, lists[name], NO_MARKS);
}
