/**
 * Extents of the page cache and reads of prefetching threads in a sweep, bytes: larger than the simulator's own, for a
 * fraction of its events. test/bench/sweep.ts measures what that does to the TPOT.
 */
export const EXTENT_BYTES = 16 * 2 ** 20;
export const CHUNK_BYTES = 512 * 2 ** 20;
