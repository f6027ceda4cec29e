import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import { HUGE_PAGE_BYTES } from '../page-cache/folios.ts';
import type { PageCache, Segment } from '../page-cache/page-cache.ts';
import type { Faults } from '../page-cache/policies.ts';
import type { Reader } from '../page-cache/reclaimer.ts';
import type { Disk } from './disk.ts';
import { createDiskReads, type DiskRead, type DiskReads, type FinishedRead } from './disk-reads.ts';

/** What reading weights amounts to. */
export interface ReadingTotals {
  /** Seconds by which computations took longer because they waited for the disk, or mapped what it had brought. */
  stallSeconds: number;
  /** Bytes read for page faults. */
  faultedBytes: number;
  prefetchedBytes: number;
}

export interface WeightsReaderParts {
  readonly simulation: Simulation;
  readonly cache: PageCache;
  readonly disk: Disk;
  readonly faults: Faults;
  /** Largest read of a prefetcher at once, bytes. */
  readonly chunkBytes: number;
  /** Nobody prefetches: page faults have the disk and the memory to themselves. */
  readonly faultsOnly: boolean;
  /** Called after every read of the disk. */
  readonly onRead: (read: FinishedRead) => void;
}

/**
 * A device's weights between disk and memory. Computations reach them by `pageFaults`, and the prefetching thread by
 * `prefetch`; both read through here.
 */
export interface WeightsReader extends Omit<WeightsReaderParts, 'disk' | 'onRead'> {
  readonly totals: ReadingTotals;
  readonly reads: DiskReads;
  /** Reclaim takes time to look at used pages. */
  readonly reclaimTakesTime: boolean;
}

export function createWeightsReader({ disk, onRead, ...parts }: WeightsReaderParts): WeightsReader {
  const totals: ReadingTotals = { stallSeconds: 0, faultedBytes: 0, prefetchedBytes: 0 };
  const reads = createDiskReads(parts.simulation, parts.cache, disk, (finished) => {
    if (finished.reader === 'demand') totals.faultedBytes += finished.bytes;
    else totals.prefetchedBytes += finished.bytes;
    onRead(finished);
  });
  const reclaimTakesTime = parts.faults.osRates.spared < Number.POSITIVE_INFINITY;
  return { ...parts, totals, reads, reclaimTakesTime };
}

/**
 * Reads a range and waits for it. What the operating system reads ahead comes afterwards, a huge page at a time, and
 * nobody waits for it.
 */
export function* readAndWait({ cache, reads, faults }: WeightsReader, range: ByteRange, reader: Reader): Steps {
  const access = reader === 'demand' ? faults.access : 'sequential';
  const end = endOfExtent(cache, range.to);
  const requested: DiskRead[] = [];
  const ahead: DiskRead[] = [];
  for (const { from, to } of cache.startRead(range, reader)) {
    if (from < end) requested.push(reads.begin({ from, to: Math.min(to, end) }, reader, access));
    for (let at = Math.max(from, end); at < to; ) {
      const next = Math.min(to, endOfExtent(cache, at + HUGE_PAGE_BYTES));
      ahead.push(reads.begin({ from: at, to: next }, reader, access));
      at = next;
    }
  }
  for (const read of requested) {
    yield read.moved;
    reads.end(read);
  }
  for (const read of ahead) reads.submit(read);
}

/** What a range begins with, after reclaim has looked at used pages to make room for what reading it brings. */
export function* nextSegment(weights: WeightsReader, range: ByteRange): Steps<Segment> {
  const { cache, faults } = weights;
  const found = cache.next(range);
  const reads = found.state === 'missing' || cache.readsAhead(found);
  const seconds = reads ? sparingSeconds(weights, faults.readAhead) : 0;
  if (seconds === 0) return found;
  yield hold(seconds);
  return cache.next(range);
}

/** Seconds for which reclaim looks at used pages before it finds room for so many bytes. */
export function sparingSeconds({ cache, faults, reclaimTakesTime }: WeightsReader, bytes: number): number {
  return reclaimTakesTime ? cache.spared(bytes) / faults.osRates.spared : 0;
}

export function endOfExtent({ extentBytes }: PageCache, position: number): number {
  return Math.ceil(position / extentBytes) * extentBytes;
}
