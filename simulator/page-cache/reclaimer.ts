import type { Span } from './extents.ts';
import type { PolicyParameters } from './policies.ts';
import type { Run } from './runs.ts';
import type { Budget, CacheState } from './state.ts';

/**
 * The reader of the disk:
 * - `demand`: a computation that found bytes missing (a page fault);
 * - `willneed`: a prefetch that only brings bytes into memory (MADV_WILLNEED);
 * - `populate`: a prefetch that also maps them, which counts as a use (MADV_POPULATE_READ).
 * The first and the last trigger the operating system's readahead.
 */
export type Reader = 'demand' | 'willneed' | 'populate';

/**
 * How a read came about: by a fault that no readahead foresaw (`new`), by going on where the readahead before it ended
 * (`on`), or behind something that was in memory already (`broken`).
 */
export type Stream = 'new' | 'on' | 'broken';

export interface ReclaimerParts {
  readonly parameters: PolicyParameters;
  readonly state: CacheState;
  readonly budget: Budget;
  /** Seconds; `undefined` without a clock. */
  readonly now: (() => number) | undefined;
}

/**
 * A reclaim policy at work on one cache: it decides where extents go when they are read and used, and which ones are
 * evicted. Runs passed in are cut to fit, and may be joined with others afterwards.
 */
export interface Reclaimer {
  /** Bytes that count against the capacity. */
  charged(): number;
  /** Missing extents begin to be read. */
  begin(span: Span, reader: Reader, stream: Stream): void;
  /** There is room for what has begun to be read. */
  enter(): void;
  /** A run has been read, or unpinned: moves it to its list. */
  admit(run: Run): void;
  /** A computation uses a run that is not pinned; with two lists it may still be being read. */
  touch(run: Run): void;
  /** MADV_POPULATE_READ maps and uses a run that is not pinned; with two lists it may still be being read. */
  populate(run: Run): void;
  /** A span is released on request, with its mapping. */
  unmap(span: Span): void;
  /** Bytes that reclaim looks at and spares before it has found `excess` bytes to evict. */
  spared(excess: number): number;
  /** Evicts `excess` bytes or more, or as much as can be evicted. */
  reclaim(excess: number): void;
  /**
   * Extents that may be read at once and leave the cache as if they had been read one by one, at least 1. With two
   * lists this is not quite exact where extents are promoted.
   */
  atOnce(): number;
}
