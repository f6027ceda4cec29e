import type { Span } from './extents.ts';
import type { Reclaimer, ReclaimerParts } from './reclaimer.ts';
import { NO_MARKS, type Run, type RunList } from './runs.ts';
import { chargedBytes, evictableExtents, MOST_GENERATIONS } from './state.ts';
import { createWalkedTables } from './table-walk.ts';
import { createTiers, MOST_USES, tierOf } from './tiers.ts';

/** Generations that aren't evicted from, the counterpart of the active list (MIN_NR_GENS, include/linux/mmzone.h). */
const LEAST_GENERATIONS = 2;

/**
 * Linux with multi-generational LRU, 6.1 (mm/vmscan.c, mm/workingset.c, include/linux/mm_inline.h). Pages are in
 * generations from `min_seq`, the oldest, to `max_seq`, the youngest: two to four of them.
 *
 * - What a page fault reads, readahead included, enters the youngest generation; what MADV_WILLNEED or read() brings
 *   enters the oldest, or the second oldest of four (lru_gen_add_folio).
 * - Eviction goes through the oldest generation in order. What was used through the mapping goes to the youngest
 *   (lru_gen_look_around); what is of a protected tier goes to the second oldest, where it is evicted first
 *   (sort_folio, createTiers); the rest is evicted. An empty oldest generation is dropped (try_to_inc_min_seq).
 * - Aging makes a new generation. Before, it walks page tables, as far as createWalkedTables says, and moves what was
 *   used to the youngest there is (walk_mm). It happens if two generations are left, or if of three the youngest holds
 *   more than half of all or the oldest less than a quarter (should_run_aging).
 *
 * Simplifications. Aging is kswapd's, which looks at every reclaim (lru_gen_age_node); in a control group at its limit
 * only processes reclaim, and age when nothing else helps. A page enters its generation when its read ends, not when it
 * begins. Pages that a walk promotes move at once, not when eviction meets them (folio_update_gen). The 64 pages around a
 * used one that eviction clears with it are its extent's. Anonymous pages have no part in it. From 6.3 on, mappings
 * advised MADV_RANDOM count as unused (vma_has_recency), as here.
 */
export function createGenerationalLru({ state, budget, parameters, now }: ReclaimerParts): Reclaimer {
  const { lists, generations, runs, extentBytes } = state;
  const { seesUse } = parameters;
  const { walksTables, throughDescriptor, minTtl } = parameters.generations;
  const isMapped = seesUse && !throughDescriptor;
  const tiers = createTiers(state);
  const tables = createWalkedTables(extentBytes);
  /** min_seq and max_seq; a system starts with four generations (lru_gen_init_lruvec). */
  let oldest = 0;
  let youngest = MOST_GENERATIONS - 1;
  const births = Array.from({ length: MOST_GENERATIONS }, () => now?.() ?? 0);

  const generation = (seq: number): RunList => generations[seq % MOST_GENERATIONS] as RunList;
  const count = (): number => youngest - oldest + 1;
  const listedBytes = (): number => generations.reduce((sum, { bytes }) => sum + bytes, 0);

  const toYoungest = (run: Run): void => {
    run.young = false;
    run.uses = 0;
    runs.toNewest(run, generation(youngest));
  };
  const toSecondOldest = (run: Run): void => {
    run.uses = 0;
    runs.toOldest(run, generation(oldest + 1));
  };

  const dropOldest = (): void => {
    oldest++;
    tiers.advance();
  };
  const dropEmpty = (): void => {
    while (count() > LEAST_GENERATIONS && generation(oldest).bytes === 0) dropOldest();
  };

  /** Spans that were used since a walk or eviction last looked, in the order in which eviction would meet them. */
  const usedSpans = (): Span[] => {
    const spans: Span[] = [];
    for (let seq = oldest; seq <= youngest; seq++) {
      for (let run = generation(seq).oldest; run !== undefined; run = run.newer) {
        if (run.young) spans.push({ from: run.from, to: run.to });
      }
    }
    return spans;
  };

  const walk = (): void => {
    const promote = (run: Run): void => {
      tables.found(run);
      if (run.list !== generation(youngest)) toYoungest(run);
      else {
        run.young = false;
        run.uses = 0;
        runs.join(run);
      }
    };
    for (const span of usedSpans()) {
      for (const { from, to, inside } of tables.split(span)) if (inside) runs.visit({ from, to }, isYoung, promote);
    }
    tables.advance();
  };

  /** Makes a generation; of four, the two oldest become one. */
  const age = (): void => {
    if (walksTables) walk();
    if (count() === MOST_GENERATIONS) {
      for (let run = generation(oldest).oldest; run !== undefined; run = generation(oldest).oldest) toSecondOldest(run);
      dropOldest();
    }
    youngest++;
    births[youngest % MOST_GENERATIONS] = now?.() ?? 0;
  };

  const isAgingDue = (): boolean => {
    if (now !== undefined && now() - (births[oldest % MOST_GENERATIONS] as number) < minTtl) return false;
    if (count() !== LEAST_GENERATIONS + 1) return count() <= LEAST_GENERATIONS;
    const total = listedBytes();
    return 2 * generation(youngest).bytes > total || 4 * generation(oldest).bytes < total;
  };

  const isSpared = (run: Run, highest: number): boolean => run.uses >= MOST_USES || tierOf(run.uses) > highest;

  /** The extents of a run that eviction meets first. */
  const first = (run: Run, extents: number): Run =>
    run.descending
      ? runs.cut(run, Math.max(run.from, run.to - extents), run.to)
      : runs.cut(run, run.from, Math.min(run.to, run.from + extents));

  /** Looks at the oldest run of the oldest generation; returns the bytes evicted. */
  const scan = (run: Run, wanted: number): number => {
    if (isSpared(run, tiers.highestEvicted())) {
      const spared = run.uses >= MOST_USES ? run : first(run, 1);
      tiers.spare(spared, spared.uses);
      toSecondOldest(spared);
      return 0;
    }
    if (run.young) {
      tables.met(run);
      toYoungest(run);
      return 0;
    }
    const evicted = first(run, wanted);
    tiers.evict(evicted, evicted.uses);
    return state.drop(evicted, evicted.to - evicted.from, 'reclaimed');
  };

  return {
    charged: () => chargedBytes(state),
    begin: (span, reader) => {
      const faults = isMapped && reader !== 'willneed';
      for (const { inside, ...part } of tiers.read(span, faults)) {
        const uses = inside ? MOST_USES : 0;
        runs.add(part, lists.reading, { ...NO_MARKS, promoted: faults, unmapped: reader === 'willneed', uses });
      }
    },
    admit: (run) => {
      const { promoted } = run;
      run.promoted = false;
      run.descending = false;
      const cold = count() === MOST_GENERATIONS ? oldest + 1 : oldest;
      runs.toNewest(run, generation(promoted ? youngest : cold));
    },
    touch: (run) => {
      if (run.unmapped) state.mapped += state.bytesOf(run.from, run.to);
      run.unmapped = false;
      if (throughDescriptor) run.uses = Math.min(run.uses + 1, MOST_USES);
      else run.young = seesUse;
      runs.join(run);
    },
    // Populating touches pages as read() does, in addition to mapping them (follow_page_pte, mm/gup.c).
    populate: (run) => {
      run.unmapped = false;
      run.young = isMapped;
      run.uses = Math.min(run.uses + 1, MOST_USES);
      runs.join(run);
    },
    enter: () => {},
    unmap: () => {},
    spared: (excess) => {
      const highest = tiers.highestEvicted();
      let [spared, found] = [0, 0];
      for (let seq = oldest; seq <= youngest && found < excess; seq++) {
        for (let run = generation(seq).oldest; run !== undefined && found < excess; run = run.newer) {
          const bytes = state.bytesOf(run.from, run.to);
          if (run.young || isSpared(run, highest)) spared += bytes;
          else found += bytes;
        }
      }
      return spared;
    },
    reclaim: (excess) => {
      dropEmpty();
      if (isAgingDue()) age();
      for (let left = excess; left > 0; ) {
        if (listedBytes() === 0) return;
        dropEmpty();
        if (count() <= LEAST_GENERATIONS) age();
        else left -= scan(generation(oldest).oldest as Run, Math.ceil(left / extentBytes));
      }
    },
    atOnce: () => {
      const free = Math.floor((budget.capacity() - chargedBytes(state)) / extentBytes);
      if (free >= 1) return free;
      const run = generation(oldest).oldest;
      if (run === undefined || run.young || isSpared(run, tiers.highestEvicted())) return 1;
      return Math.min(run.to - run.from, evictableExtents(state, budget));
    },
  };
}

function isYoung(run: Run): boolean {
  return run.young;
}
