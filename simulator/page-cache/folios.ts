import type { Stream } from './reclaimer.ts';
import type { Folios } from './runs.ts';
import type { Span } from './spans.ts';

/** Pages from this size on are mapped by one entry of the page table, bytes (x86-64; mm/filemap.c, mm/gup.c). */
export const HUGE_PAGE_BYTES = 2 * 2 ** 20;
/** Readahead windows, after a stream's first, whose folios are larger than a page and smaller than a huge page. */
const SEVERAL_WINDOWS = 4;

/** Which folios the kernel's readahead allocates. */
export interface FolioStream {
  /** Goes on to a span that is about to be read; what it comes in, in order. */
  advance(span: Span, stream: Stream): readonly (Span & { readonly folios: Folios })[];
}

/**
 * The kernel's readahead of one file (mm/readahead.c, page_cache_ra_order; measured: MADV_POPULATE_READ of 128 MiB
 * with 8 MiB of readahead adds 32 MiB to the active list). A stream begins with a window of single pages around the
 * fault, half of it before; with each window after that folios are four times as large, to the size of a huge page if
 * the readahead allows it. Behind something that is in memory already, a window's rest comes in single pages.
 * @param readAhead bytes
 * @param isThere whether an extent is in memory, or on its way
 */
export function createFolioStream(
  readAhead: number,
  extentBytes: number,
  isThere: (extent: number) => boolean,
): FolioStream {
  const window = readAhead / extentBytes;
  const severalFrom = Math.max(1, Math.floor(window));
  const hugeFrom = readAhead < HUGE_PAGE_BYTES ? Number.POSITIVE_INFINITY : Math.round((1 + SEVERAL_WINDOWS) * window);
  /** Where the stream has come to, and how many extents that is from its beginning. */
  let end = -1;
  let length = 0;

  const placeOf = ({ from }: Span, stream: Stream): number => {
    if (stream !== 'new' || end === from) return length + Math.max(0, from - end);
    return from > 0 && isThere(from - 1) ? Math.floor(window / 2) : 0;
  };

  return {
    advance: (span, stream) => {
      const { from, to } = span;
      const place = placeOf(span, stream);
      end = to;
      length = place + to - from;
      if (stream === 'broken') return [{ from, to, folios: 'page' }];
      const several = Math.min(to, Math.max(from, from - place + severalFrom));
      const huge = Math.min(to, Math.max(from, from - place + hugeFrom));
      const parts = [
        { from, to: several, folios: 'page' as const },
        { from: several, to: huge, folios: 'several' as const },
        { from: huge, to, folios: 'huge' as const },
      ];
      return parts.filter((part) => part.from < part.to);
    },
  };
}
