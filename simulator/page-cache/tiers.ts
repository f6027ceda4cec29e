import { addSpan, removeSpan, type Span, splitBySet } from './extents.ts';
import type { CacheState } from './state.ts';

const PAGE_BYTES = 4096;
/** Tiers (MAX_NR_TIERS, include/linux/mmzone.h). */
const TIERS = 4;
/** Refaults that are too few to say anything, pages (MIN_LRU_BATCH, of 64 bits). */
const LEAST_PAGES = 64;
/** The references that a page records at most (BIT(LRU_REFS_WIDTH)): one fewer than its uses. */
const MOST_REFERENCES = 4;
export const MOST_USES = MOST_REFERENCES + 1;
/** References from which a page that is read again counts as evicted too early, also without a page fault. */
const MANY_REFERENCES = 3;

/** References of a page that was used so often: the first use makes none (folio_lru_refs, mm_inline.h). */
function referencesOf(uses: number): number {
  return Math.max(0, Math.min(uses - 1, MOST_REFERENCES));
}

/** Tier of a page by its uses: order_base_2(references + 1) (lru_tier_from_refs, mm_inline.h), 0 to 3. */
export function tierOf(uses: number): number {
  return Math.ceil(Math.log2(referencesOf(uses) + 1));
}

/**
 * MGLRU's tiers in Linux 6.1: pages of the oldest generation by their uses, and what became of those that were evicted
 * (mm/vmscan.c, read_ctrl_pos to get_tier_idx; mm/workingset.c, lru_gen_eviction and lru_gen_refault).
 */
export interface Tiers {
  /** The highest tier that is not protected (get_tier_idx). */
  highestEvicted(): number;
  /** Extents were evicted after this many uses. */
  evict(span: Span, uses: number): void;
  /** Extents were spared after this many uses. */
  spare(span: Span, uses: number): void;
  /**
   * Extents are about to be read.
   * @param faults by page faults
   * @returns the parts of the span, in order, and whether they were evicted too early: they count as used MOST_USES
   *   times, which protects them once
   */
  read(span: Span, faults: boolean): (Span & { readonly inside: boolean })[];
  /** The oldest generation is gone; the next one is the oldest. */
  advance(): void;
}

/**
 * The controller compares tiers by refaults ÷ (evicted + protected), each the sum of the oldest generation and the
 * moving average of those before it (factor 1/2). A tier is protected if it has 64 refaults or more, and a rate more than
 * twice that of tier 0 (positive_ctrl_err). Only what was evicted from the generation that is still the oldest counts as a
 * refault, so that what the shadows hold is forgotten with it.
 *
 * The kernel halves whole numbers of pages; here they are fractions.
 */
export function createTiers({ bytesOf }: Pick<CacheState, 'bytesOf'>): Tiers {
  const zeros = (): number[] => Array.from({ length: TIERS }, () => 0);
  const [refaulted, total] = [zeros(), zeros()];
  /** Ranges that were evicted from the oldest generation, by references. */
  const shadows: Span[][] = Array.from({ length: MOST_REFERENCES + 1 }, () => []);
  const pages = ({ from, to }: Span): number => bytesOf(from, to) / PAGE_BYTES;
  const add = (counts: number[], uses: number, span: Span): void => {
    const tier = tierOf(uses);
    counts[tier] = (counts[tier] as number) + pages(span);
  };

  const isProtected = (tier: number): boolean => {
    const [first, own] = [refaulted[0] as number, refaulted[tier] as number];
    const [firstTotal, ownTotal] = [total[0] as number, total[tier] as number];
    return own >= LEAST_PAGES && own * (firstTotal + LEAST_PAGES) > (first + 1) * ownTotal * 2;
  };

  return {
    highestEvicted: () => {
      let tier = 1;
      while (tier < TIERS && !isProtected(tier)) tier++;
      return tier - 1;
    },
    evict: (span, uses) => {
      add(total, uses, span);
      addSpan(shadows[referencesOf(uses)] as Span[], span);
    },
    spare: (span, uses) => add(total, uses, span),
    read: (span, faults) => {
      const early: Span[] = [];
      for (const [references, spans] of shadows.entries()) {
        for (const { from, to, inside } of splitBySet(spans, span)) {
          if (!inside) continue;
          add(refaulted, references + 1, { from, to });
          if (faults || references >= MANY_REFERENCES) addSpan(early, { from, to });
        }
        removeSpan(spans, span);
      }
      return splitBySet(early, span);
    },
    advance: () => {
      for (const counts of [refaulted, total]) for (const [tier, count] of counts.entries()) counts[tier] = count / 2;
      for (const spans of shadows) spans.length = 0;
    },
  };
}
