import { HUGE_PAGE_BYTES } from './folios.ts';
import { addSpan, removeSpan, type Span, splitBySet } from './spans.ts';

/** Which parts of a mapping have page tables, one for every 2 MiB. */
export interface PageTables {
  /** A span is mapped page by page. */
  add(span: Span): void;
  /** A span is unmapped on request (MADV_DONTNEED): tables that are empty then go (CONFIG_PT_RECLAIM). */
  remove(span: Span): void;
  /** The parts of a span that have tables, and those that don't, in order. */
  split(span: Span): (Span & { readonly inside: boolean })[];
}

/**
 * Reclaim unmaps pages and leaves their tables. Where one is left, a huge page that comes later can't be mapped by one
 * entry (filemap_map_pmd, mm/filemap.c), and is mapped page by page like any other. Measured on Linux 6.18, which was
 * left to reclaim what MADV_POPULATE_READ had brought: in the first tokens of a ring no huge page is promoted for being
 * populated, in the sixth a quarter of all that is read.
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
