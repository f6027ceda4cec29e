import type { Budget } from './budget.ts';
import type { PolicyParameters } from './policies.ts';
import type { Run } from './runs.ts';
import type { Span } from './spans.ts';
import type { CacheState } from './state.ts';

/**
 * Who reads from the disk:
 * - `demand`: a computation that found bytes missing (a page fault);
 * - `willneed`: a prefetch that brings bytes into memory and no more (MADV_WILLNEED);
 * - `populate`: a prefetch that maps them as well, which counts as a use (MADV_POPULATE_READ).
 * The kernel's readahead goes with the first and the last.
 */
export type Reader = 'demand' | 'willneed' | 'populate';

/**
 * How a read came about: by a fault that nothing foresaw; by going on where the readahead before it ended; or behind
 * something that was in memory already.
 */
export type Stream = 'new' | 'on' | 'broken';

export interface ReclaimerParts {
  readonly parameters: PolicyParameters;
  readonly state: CacheState;
  readonly budget: Budget;
  /** Seconds; undefined where nobody keeps time. */
  readonly now: (() => number) | undefined;
}

/** A reclaim policy at work on one cache. Runs passed in are cut to fit, and may be joined with others afterwards. */
export interface Reclaimer {
  /** Bytes that count against the capacity. */
  charged(): number;
  /** Begins to read missing extents. */
  begin(span: Span, reader: Reader, stream: Stream): void;
  /** There is room for what has begun to be read. */
  enter(): void;
  /** A run has been read, or unpinned: puts it where it belongs. */
  admit(run: Run): void;
  /** A computation uses a run that is not pinned; with two lists it may be on its way. */
  touch(run: Run): void;
  /** MADV_POPULATE_READ maps and uses a run that is not pinned; with two lists it may be on its way. */
  populate(run: Run): void;
  /** A span is given back on request, with what maps it. */
  unmap(span: Span): void;
  /** Bytes that reclaim looks at and spares before it has found `excess` bytes to drop. */
  spared(excess: number): number;
  /** Drops `excess` bytes or more, or as much as can be dropped. */
  reclaim(excess: number): void;
  /**
   * Extents that may be read at once and leave the cache as if they had been read one by one, at least 1; with two lists
   * all but exactly so, where extents are promoted.
   */
  atOnce(): number;
}
