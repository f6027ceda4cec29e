import { createFolioStream, HUGE_PAGE_BYTES } from './folios.ts';
import { createInactiveLine, NO_TURN } from './inactive-list.ts';
import { createListStatistics } from './list-statistics.ts';
import { createPageTables } from './page-tables.ts';
import { createLru } from './reclaim-lru.ts';
import type { Reclaimer, ReclaimerParts } from './reclaimer.ts';
import { type Folios, NO_MARKS, type Run } from './runs.ts';
import { firstEndingAfter, type Span, splitBySet } from './spans.ts';

/**
 * What reclaim looks at in one go, bytes: 32 pages (SWAP_CLUSTER_MAX, mm/vmscan.c), or a folio if that is larger. Of
 * several pages: the mean over windows with folios of 16 KiB, 64 KiB, 256 KiB and 1 MiB.
 */
const BATCH_BYTES: Readonly<Record<Folios, number>> = {
  page: 128 * 2 ** 10,
  several: 195 * 2 ** 10,
  huge: HUGE_PAGE_BYTES,
  'huge by page': HUGE_PAGE_BYTES,
};

/**
 * Linux without MGLRU, on an ordinary mapping (mm/vmscan.c, mm/workingset.c, mm/swap.c, 6.18). Extents enter an inactive
 * list; use does not move them, it sets the accessed bit of the page table (young). Reclaim looks at the oldest inactive
 * extent: young, it is spared for another trip, and promoted to the active list if that happens twice; not young, it is
 * dropped. So what a computation has used outlives what a prefetch has just brought in. An extent that is read again
 * before as many others have been reclaimed or promoted as the active list holds was dropped too early, and becomes
 * active at once.
 *
 * While the active list is longer than the inactive one, reclaim shortens it: for every batch that it looks at in the
 * one, a batch of the other goes back, or as many as it is longer. Batches are 32 pages or a large folio: behind a huge
 * page little goes back, behind single pages huge ones go back sixteen times as fast. And "longer" is what the
 * statistics say, which are seconds old: measured in a ring, the active list grows to nine tenths and then falls to a
 * fifth of the memory within half a second.
 *
 * MADV_POPULATE_READ uses what it maps, page by page, and the kernel takes a folio of several pages that is mapped page
 * by page for used more than once, and promotes it; a single page, when it is populated the second time; a huge page,
 * which has one entry of the page table, never, unless a table is left where it comes (createPageTables). What comes in
 * which, see createFolioStream.
 *
 * MADV_WILLNEED brings single pages that no page table maps; the first use maps them by page faults.
 *
 * Measured against kernel 6.18, one process, each window prefetched before it is used (S = 1 GiB, limit 448 and 640 MiB,
 * k = 1, 2, 4, 8, bytes read per token): MADV_WILLNEED within 0.02 × S in all eight cells (1.24 × S where strict LRU says
 * 1.00). In a ring less is lost (1.1 × S): pages still on their way when reclaim comes round can't be dropped, and go to
 * the end of the line (createInactiveLine). MADV_POPULATE_READ at 8 MiB of readahead is chaotic in the kernel (from 1.3 to
 * 2.0 × S in successive tokens at k = 1); at 128 KiB, strict LRU describes it better.
 */
export function createTwoLists({ state, budget, parameters, now }: ReclaimerParts): Reclaimer {
  const { lists, runs, history, extentBytes } = state;
  const { inactive, active, reading } = lists;
  const { seesUse } = parameters;
  const lru = createLru(state, budget);
  const isThere = (extent: number): boolean => {
    const run = runs.all[firstEndingAfter(runs.all, extent)];
    return run !== undefined && run.from <= extent;
  };
  const readahead = createFolioStream(parameters.readAhead, extentBytes, isThere);
  const tables = createPageTables(extentBytes);
  const line = createInactiveLine(state);
  const statistics = createListStatistics(state, now);
  /** Batches that reclaim has looked at in the inactive list and not yet in the active, per byte of an extent. */
  let owed = 0;

  /** Extents there is room for; negative: extents that remain to be reclaimed for reads that have begun. */
  const freeExtents = (): number => Math.floor((budget.capacity() - lru.charged()) / extentBytes);

  /**
   * The extents of a span whose refault distance is at most the active list: reclaims and promotions since they were
   * reclaimed, including those that the extents before them in the span are about to cause.
   */
  const refaulting = (span: Span): Span[] => {
    const free = freeExtents();
    return history.find(span).flatMap(({ from, to, age }) => {
      if (age === undefined) return [];
      const tooFar = Math.max(0, Math.ceil(state.age - age - statistics.activeExtents));
      const ahead = Math.max(0, from - span.from - free);
      if (state.age - age + ahead <= statistics.activeExtents) return [{ from, to }];
      // Each extent was reclaimed one later than the one before: while there is room, distances fall along the span.
      const first = from + tooFar;
      return first < to && first - span.from <= free ? [{ from: first, to }] : [];
    });
  };

  /** Huge pages where a page table is left from before are mapped page by page. */
  const byTables = (part: Span & { readonly folios: Folios }): (Span & { readonly folios: Folios })[] =>
    part.folios !== 'huge'
      ? [part]
      : tables.split(part).map(({ from, to, inside }) => ({ from, to, folios: inside ? 'huge by page' : 'huge' }));

  const enterTables = (run: Run): void => {
    if (run.folios !== 'huge') tables.add(run);
  };

  const deactivate = (oldest: Run): void => {
    const run = runs.cut(oldest, oldest.from, oldest.from + 1);
    run.young = false;
    line.rotate(run);
  };

  /** Reclaim has looked at inactive extents: it looks at as many batches of the active list, or more if that is longer. */
  const shortenActive = (extents: number, folios: Folios): void => {
    const others = Math.max(extentBytes, inactive.bytes + reading.bytes);
    const proportion = BATCH_BYTES[folios] === HUGE_PAGE_BYTES ? 1 : Math.max(1, active.bytes / others);
    owed += (extents * proportion) / BATCH_BYTES[folios];
    for (let run = active.oldest; run !== undefined; run = active.oldest) {
      const batches = 1 / BATCH_BYTES[run.folios];
      if (owed < batches) return;
      owed -= batches;
      deactivate(run);
    }
  };

  const promote = (run: Run): void => {
    state.age += run.to - run.from;
    run.order = 0;
    runs.toNewest(run, active);
  };

  /** Spares a young run. */
  const spare = (run: Run): void => {
    const again = run.referenced;
    run.young = false;
    run.referenced = true;
    if (again) promote(run);
    else line.rotate(run);
  };

  return {
    ...lru,
    begin: (span, reader, stream) => {
      statistics.beforeChange(false);
      const unmapped = reader === 'willneed';
      const parts = unmapped
        ? [{ ...span, folios: 'page' as const }]
        : readahead.advance(span, stream).flatMap(byTables);
      const recent = refaulting(span);
      for (const { from, to, folios } of parts) {
        for (const { inside: promoted, ...part } of splitBySet(recent, { from, to })) {
          runs.add(part, reading, { ...NO_MARKS, promoted, unmapped, folios }, NO_TURN);
        }
      }
    },
    admit: (run) => {
      statistics.beforeChange(false);
      const { promoted, list } = run;
      run.promoted = false;
      if (promoted) promote(run);
      else if (list === reading) line.arrive(run);
      else line.rotate(run);
    },
    touch: (run) => {
      if (run.unmapped) state.mapped += state.bytesOf(run.from, run.to);
      run.unmapped = false;
      run.young = seesUse;
      enterTables(run);
      runs.join(run);
    },
    populate: (run) => {
      const { folios, referenced, list } = run;
      statistics.beforeChange(false);
      enterTables(run);
      const hasSeveral = folios === 'several' || folios === 'huge by page';
      const isSecondUse = hasSeveral || (folios === 'page' && referenced);
      const isPromoted = isSecondUse && list !== active && !run.promoted;
      run.unmapped = false;
      run.young = seesUse;
      if (folios !== 'huge') run.referenced = hasSeveral || !isPromoted;
      if (isPromoted && list === inactive) promote(run);
      else {
        run.promoted ||= isPromoted;
        runs.join(run);
      }
    },
    enter: line.enter,
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
      if (!statistics.isActiveLonger) owed = 0;
      for (let left = excess; left > 0; ) {
        const { oldest } = inactive;
        if (oldest === undefined) {
          if (active.oldest === undefined) return;
          deactivate(active.oldest);
          continue;
        }
        line.pass(oldest);
        const shortens = statistics.isActiveLonger && active.oldest !== undefined;
        const { young, folios, from, to } = oldest;
        const most = shortens ? 1 : to - from;
        const extents = young ? most : Math.min(most, Math.ceil(left / extentBytes));
        if (young) spare(runs.cut(oldest, from, from + extents));
        else left -= state.drop(oldest, extents, 'reclaimed');
        if (shortens) shortenActive(extents, folios);
      }
    },
    atOnce: () => {
      const free = freeExtents();
      const { oldest } = inactive;
      if (free >= 1) return free;
      return oldest === undefined || oldest.young ? 1 : Math.min(oldest.to - oldest.from, lru.atOnce());
    },
  };
}
