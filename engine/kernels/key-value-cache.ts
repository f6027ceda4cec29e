import type { KvFormat } from '../model/kv-format.ts';

/** Keys and values of one layer, each [kvHeads][capacity][headSize]; how they are laid out is up to the kernels. */
export interface KeyValueCacheShape {
  readonly type: KvFormat;
  readonly kvHeads: number;
  /** Positions. */
  readonly capacity: number;
  readonly headSize: number;
}

export interface KeyValueCache extends KeyValueCacheShape {
  readonly id: number;
}

/** When a cache was written or read: seconds on the clock of performance.now(). */
export interface CacheOutcome {
  readonly start: number;
  readonly end: number;
}

/** A copy of a cache to or from a file, in the background. */
export interface CacheJob {
  /** Blocks until the job has ended. May be called again. @throws InputError if the disk is full or fails */
  wait(): CacheOutcome;
  /** The outcome, or undefined while the job hasn't ended. @throws as `wait` does */
  poll(): CacheOutcome | undefined;
}

/**
 * A file, or RAM next to a GPU's memory and then a file, to which caches of one shape are written and from which they are
 * read back: the second pool of a paged KV cache. A file has no name in its folder and disappears with the process.
 * Native kernels do the jobs on a thread of their own, reads before writes, past the page cache where the file system
 * allows it; callers must wait until a place is written before they read it.
 */
export interface CacheFile {
  /**
   * Begins to write a cache to a place of the file.
   * @param place where the cache goes, counted in caches from the beginning of the file
   */
  write(cache: KeyValueCache, place: number): CacheJob;
  /** Begins to read a cache from a place of the file. */
  read(cache: KeyValueCache, place: number): CacheJob;
  /** Abandons unfinished jobs. */
  close(): void;
}

/** Destination of evicted caches. */
export interface CachePlace {
  /** Folder for the file. */
  readonly folder: string;
  /** Bytes of RAM for caches that leave a GPU, beyond which the oldest go to the file. Kernels in RAM don't use it. */
  readonly ram: number;
}
