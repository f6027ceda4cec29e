import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import { HUGE_PAGE_BYTES } from '../page-cache/folios.ts';
import type { PageCache, Segment } from '../page-cache/page-cache.ts';
import type { Reader } from '../page-cache/reclaimer.ts';
import type { Disk, Faults } from './disk.ts';
import { createReadsUnderWay, type FinishedRead, type Read } from './disk-reads.ts';

/** What reading weights took. */
export interface ReadingTotals {
  /** Seconds by which computations took longer because they waited for the disk, or mapped what it had brought. */
  stallSeconds: number;
  /** Bytes read for page faults, and by prefetching. */
  faultedBytes: number;
  prefetchedBytes: number;
}

/** A device's weights between disk and memory: page faults of its computations, and prefetching beside them. */
export interface WeightsReader {
  readonly totals: Readonly<ReadingTotals>;
  /** Whether several layers may be needed at once: the times stay, though all that is there counts as used sooner. */
  readonly takesLayers: boolean;
  /**
   * A computation needs a range: it waits for what is being read, reads what is missing, and uses all of it.
   * @param seconds it takes, evenly over the range
   * @param layers of equal size that the range consists of; one is asked for once those before it are computed
   * @returns what is left of them when the last byte is there: all, or where pages are used as they come, less; and
   * on top of it what mapping them takes
   */
  need(range: ByteRange, seconds?: number, layers?: number): Steps<number>;
  /**
   * Reads what is missing of a range, chunk by chunk. `willneed` (MADV_WILLNEED) doesn't wait for what others read,
   * `populate` (MADV_POPULATE_READ) waits for pages to be there, then uses them.
   */
  prefetch(range: ByteRange, reader: 'willneed' | 'populate'): Steps;
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
  /** Told of every read of the disk. */
  readonly onRead: (read: FinishedRead) => void;
}

export function createWeightsReader({
  simulation,
  cache,
  disk,
  faults,
  chunkBytes,
  faultsOnly,
  onRead,
}: WeightsReaderParts): WeightsReader {
  const totals: ReadingTotals = { stallSeconds: 0, faultedBytes: 0, prefetchedBytes: 0 };
  const underWay = createReadsUnderWay(simulation, cache, disk, (finished) => {
    if (finished.reader === 'demand') totals.faultedBytes += finished.bytes;
    else totals.prefetchedBytes += finished.bytes;
    onRead(finished);
  });

  const endOfExtent = (position: number): number => Math.ceil(position / cache.extentBytes) * cache.extentBytes;

  const reclaimTakesTime = faults.kernel.spared < Number.POSITIVE_INFINITY;
  /** Seconds for which reclaim looks at used pages, before it finds room for so many bytes. */
  const sparing = (bytes: number): number => (reclaimTakesTime ? cache.spared(bytes) / faults.kernel.spared : 0);

  /**
   * Reads a range and waits for it; what the kernel reads ahead of it comes afterwards, a huge page at a time, and nobody
   * waits.
   */
  function* read(range: ByteRange, reader: Reader): Steps {
    const access = reader === 'demand' ? faults.access : 'sequential';
    const end = endOfExtent(range.to);
    const asked: Read[] = [];
    const ahead: Read[] = [];
    for (const { from, to } of cache.startRead(range, reader)) {
      if (from < end) asked.push(underWay.begin({ from, to: Math.min(to, end) }, reader, access));
      for (let at = Math.max(from, end); at < to; ) {
        const next = Math.min(to, endOfExtent(at + HUGE_PAGE_BYTES));
        ahead.push(underWay.begin({ from: at, to: next }, reader, access));
        at = next;
      }
    }
    for (const part of asked) {
      yield part.moved;
      underWay.end(part);
    }
    for (const part of ahead) underWay.submit(part);
  }

  /**
   * MADV_WILLNEED: enters pages as being read as fast as the processor goes, whatever the disk does. What has arrived
   * by the time reclaim has looked at all used pages is the first to be dropped; what is being read can't be. A chunk's
   * room is left for page faults.
   */
  function* submit(range: ByteRange): Steps {
    const bytes = range.to - range.from;
    const work = bytes / faults.kernel.submitted + sparing(bytes);
    if (work > 0) yield hold(work);
    for (let arrival = underWay.nextArrival(); arrival !== undefined && isFull(cache, bytes + chunkBytes); ) {
      yield arrival;
      arrival = underWay.nextArrival();
    }
    for (const part of cache.startRead(range, 'willneed'))
      underWay.submit(underWay.begin(part, 'willneed', 'sequential'));
  }

  return {
    totals,
    takesLayers: !reclaimTakesTime && (faults.usesPagesAsTheyCome || faultsOnly),
    *need(range, seconds = 0, layers = 1) {
      const layerBytes = (range.to - range.from) / layers;
      const perByte = seconds / (range.to - range.from);
      const begin = simulation.now;
      let mapping = 0;
      /** When what has arrived so far will have been used. */
      let used = begin;
      for (let from = range.from; from < range.to; ) {
        const start = simulation.now;
        const rest = { from, to: range.to };
        const segment = reclaimTakesTime ? yield* next(rest) : cache.next(rest);
        let to = segment.to;
        let own = 0;
        if (segment.state === 'resident') {
          own = cache.touch(segment) / faults.kernel.mapped;
          if (cache.readsAhead(segment)) yield* read(segment, 'demand');
        } else if (segment.state === 'missing') {
          let end = segment.to;
          if (layers > 1 && faults.usesPagesAsTheyCome && used > start) {
            const layer = range.from + Math.floor((from - range.from) / layerBytes + ROUNDING) * layerBytes;
            const before = used - (from - layer) * perByte;
            if (before > start) {
              yield hold(before - start);
              continue;
            }
            // What is there of this layer is still being computed: the next one's turn comes after it.
            end = Math.min(end, layer + layerBytes);
          }
          const wanted = { from, to: end };
          const chunk = layers > 1 && faultsOnly && faults.readsInOneGo ? wanted : cache.atOnce(wanted, 'demand');
          // What is read is used at once: it may not stay until it could be looked up again.
          yield* read(chunk, 'demand');
          cache.touch(chunk);
          to = Math.min(range.to, chunk.to);
        } else if (cache.readsAhead(segment)) {
          yield* read(segment, 'demand');
          to = from;
        } else {
          yield underWay.arrivalOf(from);
          // Pages came in order, and were used as they did; unless what has come was dropped at once.
          const there = cache.next(segment);
          to = there.state === 'resident' ? there.to : from;
          if (there.state === 'resident') own = cache.touch(there) / faults.kernel.mapped;
        }
        used = Math.max(Math.max(used, start) + (to - from) * perByte + own, simulation.now);
        mapping += own;
        from = to;
      }
      const waited = simulation.now - begin;
      const left = faults.usesPagesAsTheyCome && waited > 0 ? used - simulation.now : seconds + mapping;
      totals.stallSeconds += waited - (seconds - left);
      return left;
    },
    *prefetch(range, reader) {
      for (let from = range.from; from < range.to; ) {
        const rest = { from, to: range.to };
        const segment = reader === 'populate' && reclaimTakesTime ? yield* next(rest) : cache.next(rest);
        const chunk = segment.state === 'missing' ? firstOf(cache.atOnce(segment, reader)) : segment;
        if (reader === 'willneed') {
          if (segment.state === 'missing') yield* submit(chunk);
          from = chunk.to;
        } else if (segment.state === 'reading') yield underWay.arrivalOf(from);
        else {
          yield* read(chunk, 'populate');
          if (segment.state === 'missing') from = chunk.to;
          else from = stillThere(chunk);
        }
      }
    },
  };

  /** What a range begins with, once reclaim has looked at used pages for the sake of what that makes the kernel read. */
  function* next(range: ByteRange): Steps<Segment> {
    const found = cache.next(range);
    const reads = found.state === 'missing' || cache.readsAhead(found);
    const work = reads ? sparing(faults.readAhead) : 0;
    if (work === 0) return found;
    yield hold(work);
    return cache.next(range);
  }

  /** How far a range is there: what the kernel has read ahead may be dropped again for what it reads ahead next. */
  function stillThere(range: ByteRange): number {
    const there = cache.next(range);
    return there.state === 'resident' ? there.to : range.from;
  }

  /** The first chunk of a range, to the end of an extent: more than that is not left of one that has been read. */
  function firstOf({ from, to }: ByteRange): ByteRange {
    return { from, to: Math.min(to, endOfExtent(from + chunkBytes)) };
  }
}

/** Where a layer begins is known up to that part of one. */
const ROUNDING = 1e-9;

/** Whether so much more can't be read before something that is being read has come. */
function isFull(cache: PageCache, bytes: number): boolean {
  const { reading, pinned, capacity } = cache.usage();
  return reading + pinned + bytes > capacity;
}
