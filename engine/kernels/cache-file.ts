import type { KeyValueCache } from './key-value-cache.ts';

/** When a cache was written or read: seconds, on the clock of performance.now(). */
export interface CacheOutcome {
  readonly start: number;
  readonly end: number;
}

export interface CacheJob {
  /** Blocks until it is done. Its outcome may be asked for again. @throws InputError where the disk is full or fails */
  wait(): CacheOutcome;
  /** Its outcome; undefined where it isn't done. @throws as `wait` does */
  poll(): CacheOutcome | undefined;
}

/**
 * A file that caches of one shape go to and come back from, the second pool of a paged KV cache. It has no name in its
 * folder, and is gone with the process. With native kernels a helper thread does the jobs, reads before writes, past the
 * page cache where the file system lets it; whoever reads a place must have waited until it was written.
 */
export interface CacheFile {
  /** @param place where it goes: so many caches from the file's beginning */
  write(cache: KeyValueCache, place: number): CacheJob;
  read(cache: KeyValueCache, place: number): CacheJob;
  /** Gives up what isn't done. */
  close(): void;
}
