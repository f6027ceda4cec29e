import type { Budget } from './page-cache-budget.ts';
import { createLru } from './page-cache-lru.ts';
import type { Reader, Reclaimer } from './page-cache-reclaimer.ts';
import type { Marks, Run } from './page-cache-runs.ts';
import type { Span } from './page-cache-span.ts';
import type { CacheState } from './page-cache-state.ts';

/** Pages from this size on are mapped by one entry of the page table, bytes (x86-64; mm/filemap.c, mm/gup.c). */
const HUGE_PAGE_BYTES = 2 * 2 ** 20;
/** Readahead windows, after a stream's first, whose folios are larger than a page and smaller than a huge page. */
const PROMOTED_WINDOWS = 4;

/**
 * Linux without MGLRU, on an ordinary mapping (mm/vmscan.c, mm/workingset.c, 6.18). Extents enter an inactive list; use
 * does not move them, it sets the accessed bit of the page table (young). Reclaim looks at the oldest inactive extent:
 * young, it is spared for another trip, and promoted to the active list if that happens twice; not young, it is dropped.
 * So what a computation has used outlives what a prefetch has just brought in. The active list is at most as long as the
 * inactive one: its oldest go back. An extent that is read again before as many others have been reclaimed or promoted
 * as the active list holds was dropped too early, and becomes active at once.
 *
 * MADV_POPULATE_READ uses what it maps, page by page, and the kernel takes a folio of several pages that is mapped page
 * by page for used more than once, and promotes it. Folios grow with a stream: single pages in its first readahead
 * window, huge pages, which count once, from the sixth on if the readahead allows them.
 *
 * MADV_WILLNEED brings single pages that no page table maps; the first use maps them by page faults.
 *
 * Measured against kernel 6.18, one process, each window prefetched before it is used (S = 1 GiB, limit 448 and 640 MiB,
 * k = 1, 2, 4, 8, bytes read per token): MADV_WILLNEED within 0.02 × S in all eight cells (1.24 × S where strict LRU says
 * 1.00). In a ring less is lost (1.1 × S): pages still on their way when reclaim comes round can't be dropped.
 * MADV_POPULATE_READ at 8 MiB of readahead is chaotic in the kernel (from 1.4 to 2.0 × S in successive tokens at k = 1)
 * and only roughly right here, about 0.1 × S too low at k > 1; at 128 KiB, strict LRU describes it better.
 */
export function createTwoLists(state: CacheState, budget: Budget, readAhead: number): Reclaimer {
  const { lists, runs, history, extentBytes } = state;
  const { inactive, active, reading } = lists;
  const lru = createLru(state, budget);
  const promotedFrom = Math.max(1, Math.floor(readAhead / extentBytes));
  const promotedTo =
    readAhead < HUGE_PAGE_BYTES
      ? Number.POSITIVE_INFINITY
      : Math.round(((1 + PROMOTED_WINDOWS) * readAhead) / extentBytes);
  /** Where the last populate ended, and how many extents in a row it had read by then. */
  let stream = { end: -1, length: 0 };

  /** Marks of an extent at the `place`-th place of its stream. */
  const marksOf = (reader: Reader, place: number, refaulted: boolean): Marks => {
    const populated = reader === 'populate';
    const promoted = refaulted || (populated && place >= promotedFrom && place < promotedTo);
    return {
      young: populated,
      referenced: populated && !promoted && place < promotedFrom,
      promoted,
      unmapped: reader === 'willneed',
    };
  };

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
      const tooFar = Math.max(0, Math.ceil(state.age - age - active.bytes / extentBytes));
      const ahead = Math.max(0, from - span.from - free);
      if (state.age - age + ahead <= active.bytes / extentBytes) return [{ from, to }];
      // Each extent was reclaimed one later than the one before: while there is room, distances fall along the span.
      const first = from + tooFar;
      return first < to && first - span.from <= free ? [{ from: first, to }] : [];
    });
  };

  const balance = (): void => {
    while (active.oldest !== undefined && active.bytes > inactive.bytes + reading.bytes) deactivate(active.oldest);
  };

  const deactivate = (oldest: Run): void => {
    const run = runs.cut(oldest, oldest.from, oldest.from + 1);
    run.young = false;
    runs.toNewest(run, inactive);
  };

  const promote = (run: Run): void => {
    state.age += run.to - run.from;
    runs.toNewest(run, active);
  };

  /** Spares a young run. */
  const spare = (run: Run): void => {
    const again = run.referenced;
    run.young = false;
    run.referenced = true;
    if (again) promote(run);
    else runs.toNewest(run, inactive);
  };

  return {
    ...lru,
    begin: (span, reader) => {
      const before = reader === 'populate' && stream.end === span.from ? stream.length : 0;
      if (reader === 'populate') stream = { end: span.to, length: before + span.to - span.from };
      const start = span.from - before;
      const recent = refaulting(span);
      const edges = [span.from, span.to, start + promotedFrom, start + promotedTo, ...recent.flatMap(edgesOf)];
      const inside = edges.filter((edge) => edge >= span.from && edge <= span.to).sort((a, b) => a - b);
      inside.forEach((from, index) => {
        const to = inside[index + 1] ?? from;
        if (from === to) return;
        const refaulted = recent.some((other) => other.from <= from && from < other.to);
        runs.add({ from, to }, reading, marksOf(reader, from - start, refaulted));
      });
    },
    admit: (run) => {
      const { promoted } = run;
      run.promoted = false;
      if (promoted) promote(run);
      else runs.toNewest(run, inactive);
    },
    touch: (run) => {
      if (run.unmapped) state.mapped += state.bytesOf(run.from, run.to);
      run.unmapped = false;
      run.young = true;
      runs.join(run);
    },
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
      for (let left = excess; left > 0; ) {
        balance();
        const { oldest } = inactive;
        if (oldest?.young) spare(oldest);
        else if (oldest !== undefined) {
          const slack = inactive.bytes + reading.bytes - active.bytes;
          const beforeBalance =
            active.oldest === undefined ? Number.POSITIVE_INFINITY : 1 + Math.floor(slack / extentBytes);
          left -= state.drop(oldest, Math.min(Math.ceil(left / extentBytes), beforeBalance), 'reclaimed');
        } else if (active.oldest !== undefined) deactivate(active.oldest);
        else return;
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

function edgesOf({ from, to }: Span): [number, number] {
  return [from, to];
}
