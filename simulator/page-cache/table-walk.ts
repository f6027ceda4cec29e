import { addSpan, type Span, splitBySet } from './extents.ts';
import { HUGE_PAGE_BYTES } from './folios.ts';

/** Page tables that the next walk looks into. */
export interface WalkedTables {
  /** The parts of a span whose tables are looked into, and those whose tables aren't, in order. */
  split(span: Span): (Span & { readonly inside: boolean })[];
  /** The walk found used pages in a span: the walk after this one looks there again. */
  found(span: Span): void;
  /** Eviction found used pages in a span: the next walk looks there. */
  met(span: Span): void;
  /** The walk has ended. */
  advance(): void;
}

/**
 * Linux 6.1 looks into the tables in which the walk before found used pages, or in which eviction has since
 * (mm/vmscan.c, walk_pmd_range, lru_gen_look_around, update_bloom_filter); the first walk looks into all. A table has
 * 2 MiB.
 *
 * The kernel's Bloom filter of 2^15 bits also lets some other tables through; this one lets none. The kernel also asks
 * that an eighth of a table was used, which holds wherever extents are used whole.
 */
export function createWalkedTables(extentBytes: number): WalkedTables {
  const extents = Math.max(1, Math.round(HUGE_PAGE_BYTES / extentBytes));
  let current: Span[] | undefined;
  let next: Span[] = [];
  const whole = ({ from, to }: Span): Span => ({
    from: Math.floor(from / extents) * extents,
    to: Math.ceil(to / extents) * extents,
  });
  return {
    split: (span) => (current === undefined ? [{ ...span, inside: true }] : splitBySet(current, span)),
    found: (span) => addSpan(next, whole(span)),
    met: (span) => {
      if (current !== undefined) addSpan(current, whole(span));
    },
    advance: () => {
      current = next;
      next = [];
    },
  };
}
