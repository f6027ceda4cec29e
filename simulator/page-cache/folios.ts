import { addSpan, removeSpan, type Span, splitBySet } from './extents.ts';
import type { Stream } from './reclaimer.ts';
import type { Folios } from './runs.ts';

/** Pages from this size on are mapped by one entry of the page table, bytes (x86-64; mm/filemap.c, mm/gup.c). */
export const HUGE_PAGE_BYTES = 2 * 2 ** 20;
/** Readahead windows after a stream's first whose folios are larger than a page and smaller than a huge page. */
const SEVERAL_WINDOWS = 4;

/** The folios that the operating system's readahead allocates. */
export interface FolioStream {
  /** Advances to a span that is about to be read; returns its parts, in order, with the folios that they come in. */
  advance(span: Span, stream: Stream): readonly (Span & { readonly folios: Folios })[];
}

/**
 * Linux's readahead of one file (mm/readahead.c, page_cache_ra_order; measured: MADV_POPULATE_READ of 128 MiB with 8
 * MiB of readahead adds 32 MiB to the active list). A stream begins with a window of single pages around the fault,
 * half of it before the fault. With each further window folios are four times as large, up to the size of a huge page
 * if the readahead allows it. Behind something that is in memory already, the rest of a window comes in single pages.
 * @param readAhead bytes
 * @param isThere whether an extent is in memory or being read
 */
export function createFolioStream(
  readAhead: number,
  extentBytes: number,
  isThere: (extent: number) => boolean,
): FolioStream {
  const window = readAhead / extentBytes;
  const severalFrom = Math.max(1, Math.floor(window));
  const hugeFrom = readAhead < HUGE_PAGE_BYTES ? Number.POSITIVE_INFINITY : Math.round((1 + SEVERAL_WINDOWS) * window);
  /** The stream's position, and how many extents that is from its beginning. */
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

/** The parts of a mapping that have page tables, one for every 2 MiB. */
export interface PageTables {
  /** A span is mapped page by page. */
  add(span: Span): void;
  /** A span is unmapped on request (MADV_DONTNEED): tables that are then empty are freed (CONFIG_PT_RECLAIM). */
  remove(span: Span): void;
  /** The parts of a span with and without tables, in order. */
  split(span: Span): (Span & { readonly inside: boolean })[];
}

/**
 * Reclaim unmaps pages and leaves their tables. Where a table is left, a huge page that comes later can't be mapped by
 * one entry (filemap_map_pmd, mm/filemap.c), and is mapped page by page. Measured on Linux 6.18, which reclaimed what
 * MADV_POPULATE_READ had brought: in the first tokens of a ring no huge page is promoted for being populated, in the
 * sixth token a quarter of everything that is read.
 */
export function createPageTables(extentBytes: number): PageTables {
  const tables: Span[] = [];
  const extents = Math.max(1, Math.round(HUGE_PAGE_BYTES / extentBytes));
  return {
    add: ({ from, to }) =>
      addSpan(tables, { from: Math.floor(from / extents) * extents, to: Math.ceil(to / extents) * extents }),
    remove: ({ from, to }) => {
      const [first, end] = [Math.ceil(from / extents) * extents, Math.floor(to / extents) * extents];
      if (first < end) removeSpan(tables, { from: first, to: end });
    },
    split: (span) => splitBySet(tables, span),
  };
}
