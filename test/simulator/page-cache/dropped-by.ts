import type { ByteRange } from '../../../simulator/page-cache/extents.ts';
import { removeSpan, type Span } from '../../../simulator/page-cache/extents.ts';
import type { PageCache } from '../../../simulator/page-cache/page-cache.ts';

/** Pages that were in memory before something was done to a cache, and aren't afterwards; by position. */
export function droppedBy(cache: PageCache, act: () => void): readonly ByteRange[] {
  const dropped: Span[] = cache.residentRanges();
  act();
  for (const range of cache.residentRanges()) removeSpan(dropped, range);
  return dropped;
}
