import type { Disk } from './device.ts';

/** Length of a slice of Linux's throttles, seconds (block/blk-throttle.c, DFL_THROTL_SLICE). */
export const LINUX_SLICE_SECONDS = 0.1;

/** How a disk does reads of which several are under way at once. */
export interface DiskReads {
  /** Seconds until the bytes of a read begin to come. Reads that are under way at once wait for them together. */
  readonly latency: number;
  /** Bytes per second of all reads together: where the disk is saturated. */
  readonly bandwidth: number;
}

/** Bytes of the random reads by which disks are described: a page. */
const PAGE_BYTES = 4096;

/**
 * Assumed where a disk's random reads aren't known page by page. Sizes of 128 KiB and 8 MiB at 954 and 2,529 MiB/s (a phone's UFS,
 * published) give 83 µs; makers of NVMe disks state 40 to 100 µs.
 */
const USUAL_LATENCY = 80e-6;

/** Assumed: no disk of today brings a page sooner. A faster rate is one of several pages at once. */
const LEAST_LATENCY = 10e-6;

/** The reads of a disk, from its rates: a page at random takes the latency and its bytes. */
export function diskReads({ sequential, random, latency }: Disk): DiskReads {
  const ofPage = PAGE_BYTES * (1 / random - 1 / sequential);
  return { latency: latency ?? (ofPage < LEAST_LATENCY ? USUAL_LATENCY : ofPage), bandwidth: sequential };
}

/**
 * Seconds of equal reads, `depth` of them under way at once, until the last has ended. A lane begins its next read when
 * its last has ended; bytes come one read after the other, at the disk's bandwidth. So with t = bytes ÷ bandwidth:
 *
 *     latency ≤ (depth − 1) t:  latency + reads · t, the disk is saturated
 *     otherwise:                ⌈reads ÷ depth⌉ (latency + t) + (reads of the last round − 1) t
 */
export function readSeconds({ latency, bandwidth }: DiskReads, reads: number, bytes: number, depth: number): number {
  if (reads === 0) return 0;
  const each = bytes / bandwidth;
  if (latency <= (depth - 1) * each) return latency + reads * each;
  const rounds = Math.ceil(reads / depth);
  return rounds * (latency + each) + (reads - (rounds - 1) * depth - 1) * each;
}

/** Bytes per second of reads that go on and on. */
export function readRate({ latency, bandwidth }: DiskReads, bytes: number, depth: number): number {
  return Math.min(bandwidth, (depth * bytes) / (latency + bytes / bandwidth));
}
