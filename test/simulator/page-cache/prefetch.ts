import type { ByteRange } from '../../../simulator/page-cache/extents.ts';
import type { PageCache } from '../../../simulator/page-cache/page-cache.ts';

/**
 * Reads the missing parts of a range in no time and chunk by chunk, like an undisturbed prefetcher: a range that
 * exceeds the memory reclaims its own beginning.
 */
export function prefetch(cache: PageCache, range: ByteRange, reader: 'willneed' | 'populate'): void {
  const end = Math.min(range.to, cache.size);
  for (let from = range.from; from < end; ) {
    const segment = cache.next({ from, to: range.to });
    const chunk = segment.state === 'missing' ? cache.atOnce(segment, reader) : segment;
    for (const part of cache.startRead(chunk, reader)) cache.finishRead(part);
    if (segment.state === 'missing') from = chunk.to;
    else {
      const rest = cache.next(chunk);
      if (rest.state === 'resident') from = rest.to;
    }
  }
}
