import type { ByteRange } from './extents.ts';
import type { PageCache, Segment } from './page-cache.ts';

/**
 * Reads a range in order, in no time and without other events. Returns what it finds resident or missing when it gets
 * there (a read may reclaim a later part of the same range); reads in progress are finished.
 * @returns segments in order, as long as possible
 */
export function scan(cache: PageCache, range: ByteRange): Segment[] {
  const segments: Segment[] = [];
  const end = Math.min(range.to, cache.size);
  for (let from = range.from; from < end; ) {
    const segment = cache.next({ from, to: range.to });
    const passed = segment.state === 'missing' ? read(cache, segment) : segment;
    if (segment.state === 'reading') cache.finishRead(wholeExtents(cache, segment));
    cache.touch(passed);
    const last = segments.at(-1);
    if (last?.state === passed.state) segments[segments.length - 1] = { ...last, to: passed.to };
    else segments.push(passed);
    from = passed.to;
  }
  return segments;

  function read(cache: PageCache, missing: Segment): Segment {
    const reads = cache.startRead(cache.atOnce(missing, 'demand'), 'demand');
    for (const part of reads) cache.finishRead(part);
    return { ...missing, to: Math.min(range.to, reads[0]?.to ?? range.to) };
  }
}

function wholeExtents({ size, extentBytes }: PageCache, { from, to }: ByteRange): ByteRange {
  const end = Math.ceil(to / extentBytes) * extentBytes;
  return { from: Math.floor(from / extentBytes) * extentBytes, to: Math.min(size, end) };
}
