import type { PageCache } from '../../../simulator/hardware/page-cache.ts';
import type { ByteRange } from '../../../simulator/hardware/page-cache-range.ts';
import { removeSpan, type Span } from '../../../simulator/hardware/page-cache-span.ts';

/** What was in memory before something was done to a cache, and isn't afterwards; by position. */
export function droppedBy(cache: PageCache, act: () => void): readonly ByteRange[] {
  const dropped: Span[] = cache.residentRanges();
  act();
  for (const range of cache.residentRanges()) removeSpan(dropped, range);
  return dropped;
}
