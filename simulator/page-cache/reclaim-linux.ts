import { type Span, splitBySet } from './extents.ts';
import { createFolioStream, createPageTables } from './folios.ts';
import { refaultingSpans } from './history.ts';
import { createActiveList, createInactiveOrder, createListStatistics, NO_PLACE } from './linux-lists.ts';
import type { Reclaimer, ReclaimerParts } from './reclaimer.ts';
import { type Folios, NO_MARKS } from './runs.ts';
import { chargedBytes, evictableExtents } from './state.ts';

/**
 * Linux without MGLRU, on an ordinary mapping (mm/vmscan.c, mm/workingset.c, mm/swap.c, 6.18). Extents enter an
 * inactive list; use does not move them, it sets the accessed bit of the page table (young). Reclaim looks at the
 * oldest inactive extent: young, it is spared for another trip, and promoted to the active list if that happens twice;
 * not young, it is evicted. So what a computation has used outlives what a prefetch has just brought in. An extent that
 * is read again before as many others have been reclaimed or promoted as the active list holds was evicted too early,
 * and becomes active at once (refaultingSpans).
 *
 * While the active list is too long for the inactive one, reclaim shortens it (createActiveList): longer, or from 1 GiB on
 * as many times as long as the root of ten times both lists' GiB. Their lengths are what statistics say, which are seconds old: measured in a ring, the active list grows to nine tenths of the memory and
 * then falls to a fifth within half a second.
 *
 * MADV_POPULATE_READ uses what it maps, page by page. Linux takes a folio of several pages that is mapped page by page
 * for used more than once and promotes it; a single page, when it is populated the second time; a huge page, which has
 * one entry of the page table, never, unless a page table is left at its place (createPageTables). createFolioStream
 * says which folios a read brings.
 *
 * MADV_WILLNEED brings single pages that no page table maps; the first use maps them by page faults.
 *
 * Measured against Linux 6.18, one process, each window prefetched before it is used (S = 1 GiB, limit 448 and 640 MiB,
 * k = 1, 2, 4, 8, bytes read per token): MADV_WILLNEED within 0.02 × S in all eight cells (1.24 × S where strict LRU
 * says 1.00). In a ring less is lost (1.1 × S): pages that are still being read when reclaim reaches them can't be
 * evicted, and go to the end of the list (createInactiveOrder). MADV_POPULATE_READ at 8 MiB of readahead is chaotic in
 * Linux (from 1.3 to 2.0 × S in successive tokens at k = 1); at 128 KiB, strict LRU describes it better.
 */
export function createTwoLists({ state, budget, parameters, now }: ReclaimerParts): Reclaimer {
  const { lists, runs, history, extentBytes } = state;
  const { inactive, active, reading } = lists;
  const { seesUse } = parameters;
  const readahead = createFolioStream(parameters.readAhead, extentBytes, runs.has);
  const tables = createPageTables(extentBytes);
  const order = createInactiveOrder(state);
  const activeList = createActiveList(state, order);
  const statistics = createListStatistics(state, now);

  /** Extents there is room for; negative: extents that remain to be reclaimed for reads that have begun. */
  const freeExtents = (): number => Math.floor((budget.capacity() - chargedBytes(state)) / extentBytes);

  /** Huge pages where a page table is left from before are mapped page by page. */
  const byTables = (part: Span & { readonly folios: Folios }): (Span & { readonly folios: Folios })[] =>
    part.folios !== 'huge'
      ? [part]
      : tables.split(part).map(({ from, to, inside }) => ({ from, to, folios: inside ? 'huge by page' : 'huge' }));

  return {
    charged: () => chargedBytes(state),
    begin: (span, reader, stream) => {
      statistics.beforeChange(false);
      const unmapped = reader === 'willneed';
      const parts = unmapped
        ? [{ ...span, folios: 'page' as const }]
        : readahead.advance(span, stream).flatMap(byTables);
      const { activeExtents } = statistics;
      const refaulting = refaultingSpans({ history, span, age: state.age, free: freeExtents(), activeExtents });
      for (const { from, to, folios } of parts) {
        for (const { inside: promoted, ...part } of splitBySet(refaulting, { from, to })) {
          runs.add(part, reading, { ...NO_MARKS, promoted, unmapped, folios }, NO_PLACE);
        }
      }
    },
    admit: (run) => {
      statistics.beforeChange(false);
      const { promoted, list } = run;
      run.promoted = false;
      if (promoted) activeList.promote(run);
      else if (list === reading) order.arrive(run);
      else order.rotate(run);
    },
    touch: (run) => {
      if (run.unmapped) state.mapped += state.bytesOf(run.from, run.to);
      run.unmapped = false;
      run.young = seesUse;
      if (run.folios !== 'huge') tables.add(run);
      runs.join(run);
    },
    populate: (run) => {
      const { folios, referenced, list } = run;
      statistics.beforeChange(false);
      if (folios !== 'huge') tables.add(run);
      const hasSeveral = folios === 'several' || folios === 'huge by page';
      const isSecondUse = hasSeveral || (folios === 'page' && referenced);
      const isPromoted = isSecondUse && list !== active && !run.promoted;
      run.unmapped = false;
      run.young = seesUse;
      if (folios !== 'huge') run.referenced = hasSeveral || !isPromoted;
      if (isPromoted && list === inactive) activeList.promote(run);
      else {
        run.promoted ||= isPromoted;
        runs.join(run);
      }
    },
    enter: order.enter,
    unmap: tables.remove,
    spared: (excess) => {
      let spared = 0;
      let found = 0;
      for (let run = inactive.oldest; run !== undefined && found < excess; run = run.newer) {
        const bytes = state.bytesOf(run.from, run.to);
        if (run.young) spared += bytes;
        else found += bytes;
      }
      return spared;
    },
    reclaim: (excess) => {
      statistics.beforeChange(true);
      if (!statistics.isActiveTooLong) activeList.forgetBatches();
      for (let left = excess; left > 0; ) {
        const { oldest } = inactive;
        if (oldest === undefined) {
          if (active.oldest === undefined) return;
          activeList.deactivate(active.oldest);
          continue;
        }
        order.pass(oldest);
        const shortens = statistics.isActiveTooLong && active.oldest !== undefined;
        const { young, folios, from, to } = oldest;
        const most = shortens ? 1 : to - from;
        const extents = young ? most : Math.min(most, Math.ceil(left / extentBytes));
        if (young) activeList.spare(runs.cut(oldest, from, from + extents));
        else left -= state.drop(oldest, extents, 'reclaimed');
        if (shortens) activeList.shorten(extents, folios);
      }
    },
    atOnce: () => {
      const free = freeExtents();
      const { oldest } = inactive;
      if (free >= 1) return free;
      return oldest === undefined || oldest.young
        ? 1
        : Math.min(oldest.to - oldest.from, evictableExtents(state, budget));
    },
  };
}
