import type { ReadMethod } from '../../experts/experts-policy.ts';
import { type DiskReads, readSeconds } from '../../hardware/disk-reads.ts';
import type { ExpertsCase, MixtureMemory } from './experts-case.ts';

/** Reads of one size: an expert's matrices, or all of them where they lie together. */
export interface PieceReads {
  /** Bytes of a piece, as the disk reads them. */
  readonly bytes: number;
  /** Latency and bandwidth of a piece; the latency is that of all reads of which a buffered piece consists. */
  readonly disk: DiskReads;
  /** Pieces in addition to those that were asked for, which the operating system reads ahead of each. */
  readonly ahead: number;
}

/**
 * The reads of experts. `direct`: a piece is one read. Through the page cache, pages are found for it first, and it comes in
 * windows of the operating system's read-ahead, of which the next is under way while the one before comes; reading goes on
 * for as much behind it. An exact read is a single window with nothing behind it.
 */
export function pieceReads({ mixture, memory, disk, policy }: ExpertsCase): PieceReads {
  const { readAhead } = memory;
  const bytes = mixture.expertBytes / mixture.readsPerExpert;
  if (policy.method === 'direct') return { bytes, disk, ahead: 0 };
  const { latency, bandwidth } = bufferedReads(disk, bytes, readAhead);
  return {
    bytes,
    disk: { latency: latency + bytes * pageWork(memory, policy.method), bandwidth },
    ahead: readAhead === 'exact' ? 0 : Math.floor(readAhead / bytes),
  };
}

/** Seconds of work on a byte that is read through the page cache: `pread` copies it, mapped pages take the place of others. */
function pageWork({ pageRates: rates, copyRate }: MixtureMemory, method: ReadMethod): number {
  const submitting = rates === undefined ? 0 : 1 / rates.submitted;
  if (method === 'pread') return submitting + 1 / copyRate;
  return submitting + (rates === undefined ? 0 : 1 / rates.mapped + 1 / rates.released);
}

/** Reads of a file's pages in order, `bytes` of them, in windows of read-ahead; exact ones in a single window. */
export function bufferedReads(disk: DiskReads, bytes: number, readAhead: number | 'exact'): DiskReads {
  if (readAhead === 'exact') return disk;
  const windows = Math.max(1, Math.ceil(bytes / Math.max(PAGE_BYTES, readAhead)));
  const seconds = readSeconds(disk, windows, bytes / windows, WINDOWS_AT_ONCE);
  return { latency: seconds - bytes / disk.bandwidth, bandwidth: disk.bandwidth };
}

/** Linux reads the next window while a reader is in the one before (mm/readahead.c, page_cache_async_ra). */
const WINDOWS_AT_ONCE = 2;
const PAGE_BYTES = 4096;
