import { hold, type Steps } from '../event-loop/effect.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import type { PageCache } from '../page-cache/page-cache.ts';
import { endOfExtent, nextSegment, readAndWait, sparingSeconds, type WeightsReader } from './weights-reader.ts';

/** MADV_WILLNEED: submits the missing parts of a range, chunk by chunk, without waiting for what others read. */
export function* prefetchWillneed(weights: WeightsReader, range: ByteRange): Steps {
  const { cache } = weights;
  for (let from = range.from; from < range.to; ) {
    const segment = cache.next({ from, to: range.to });
    const isMissing = segment.state === 'missing';
    const chunk = isMissing ? firstChunk(weights, cache.atOnce(segment, 'willneed')) : segment;
    if (isMissing) yield* submit(weights, chunk);
    from = chunk.to;
  }
}

/** MADV_POPULATE_READ: reads the missing parts of a range, chunk by chunk, waits for pages, and maps them as used. */
export function* prefetchPopulate(weights: WeightsReader, range: ByteRange): Steps {
  const { cache, reads, reclaimTakesTime } = weights;
  for (let from = range.from; from < range.to; ) {
    const rest = { from, to: range.to };
    const segment = reclaimTakesTime ? yield* nextSegment(weights, rest) : cache.next(rest);
    if (segment.state === 'reading') {
      yield reads.arrivalOf(from);
      continue;
    }
    const isMissing = segment.state === 'missing';
    const chunk = isMissing ? firstChunk(weights, cache.atOnce(segment, 'populate')) : segment;
    yield* readAndWait(weights, chunk, 'populate');
    from = isMissing ? chunk.to : endOfResident(cache, chunk);
  }
}

/**
 * MADV_WILLNEED enters pages as being read as fast as the processor goes, whatever the disk does. What has arrived by
 * the time reclaim has looked at all used pages is the first to be evicted; what is being read can't be evicted. The
 * room of one chunk is left for page faults.
 */
function* submit(weights: WeightsReader, range: ByteRange): Steps {
  const { cache, reads, faults, chunkBytes } = weights;
  const bytes = range.to - range.from;
  const seconds = bytes / faults.osRates.submitted + sparingSeconds(weights, bytes);
  if (seconds > 0) yield hold(seconds);
  for (let arrival = reads.nextArrival(); arrival !== undefined && isFull(cache, bytes + chunkBytes); ) {
    yield arrival;
    arrival = reads.nextArrival();
  }
  for (const part of cache.startRead(range, 'willneed')) reads.submit(reads.begin(part, 'willneed', 'sequential'));
}

/** The end of a range's resident beginning: pages that were read ahead may be evicted again for those read ahead next. */
function endOfResident(cache: PageCache, range: ByteRange): number {
  const found = cache.next(range);
  return found.state === 'resident' ? found.to : range.from;
}

/** The first chunk of a range, up to the end of an extent, since a partly read extent has nothing left to read. */
function firstChunk({ cache, chunkBytes }: WeightsReader, { from, to }: ByteRange): ByteRange {
  return { from, to: Math.min(to, endOfExtent(cache, from + chunkBytes)) };
}

/** Whether this many bytes can't be read before something that is being read has arrived. */
function isFull(cache: PageCache, bytes: number): boolean {
  const { reading, pinned, capacity } = cache.usage();
  return reading + pinned + bytes > capacity;
}
