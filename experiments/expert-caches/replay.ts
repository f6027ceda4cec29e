import { EVICTIONS } from '../../engine/experts/evictions.ts';
import { fitRecurrence } from '../../engine/experts/fit-recurrence.ts';
import { type Pool, replayRouting } from '../../engine/experts/replay-routing.ts';
import { type Routing, tokensOf } from '../../engine/experts/routing.ts';
import type { Eviction } from '../../engine/experts/unit-cache.ts';
import {
  expectedWorkingSet,
  leastRecentHitRate,
  mostUsedHitRate,
  pooledHitRate,
  type Recurrence,
  sharesOf,
  type WorkingSet,
} from '../../engine/experts/working-set.ts';
import { mean } from '../report/mean.ts';

/** Policies that are replayed, in the order of the table. */
export const POLICIES = ['lru', 'lfu', 'slru', 'lfru', 'pinned', 'random', 'belady'] as const;
export type PolicyName = (typeof POLICIES)[number];

/** Hit rates of caches of one size. */
export interface CacheRow {
  /** Slots for a layer's experts, in the mean over layers. */
  readonly slots: number;
  /** Shares of the experts that are needed. */
  readonly hits: Readonly<Record<PolicyName, number>>;
  /** The same as expected: LRU from popularity and recurrence, and from popularity alone; pinned experts. */
  readonly expected: { readonly lru: number; readonly independent: number; readonly pinned: number };
}

export interface CachesCase {
  readonly routing: Routing;
  readonly pool: Pool;
  readonly slots: readonly number[];
  readonly seed: number;
  /** Recurrence of a routing that was drawn; fitted where it is `undefined`. */
  readonly recurrence: Recurrence | undefined;
  readonly step: () => void;
}

const INDEPENDENT: Recurrence = { previous: 0, recent: 0, window: 1 };
/** Tokens within which caches of almost all experts turn over. */
const LONGEST = 400;

/**
 * Replays the second half of a routing through caches that the first half has filled. What is expected, and which
 * experts are pinned, is known from the first half alone.
 */
export function compareCaches({ routing, pool, slots, seed, recurrence: given, step }: CachesCase) {
  const half = Math.floor(routing.tokens / 2);
  const known = tokensOf(routing, 0, half);
  const recurrence = given ?? fitRecurrence(known);
  const shares = sharesOf(known);
  const [expected, independent] = [recurrence, INDEPENDENT].map((own) =>
    shares.map((share) => expectedWorkingSet(share, own, LONGEST)),
  ) as [WorkingSet[], WorkingSet[]];
  const byUse = mostUsed(shares, routing.experts);
  const rows = slots.map((each): CacheRow => {
    const slotsOfCache = pool === 'all' ? each * routing.layers : each;
    const hitRate = (eviction: (needs: readonly number[]) => Eviction): number => {
      const replay = { routing, pool, slots: slotsOfCache, sparesNeeded: true, seed, warmUp: half };
      const { hits, needs } = replayRouting({ ...replay, eviction });
      step();
      return hits / needs;
    };
    const leastRecent = (sets: readonly WorkingSet[]): number =>
      pool === 'all' ? pooledHitRate(sets, slotsOfCache) : mean(sets.map((set) => leastRecentHitRate(set, each)));
    return {
      slots: each,
      hits: {
        lru: hitRate(() => EVICTIONS.lru),
        lfu: hitRate(() => EVICTIONS.lfu),
        slru: hitRate(() => EVICTIONS.slru),
        lfru: hitRate(() => EVICTIONS.lfru),
        pinned: hitRate((needs) => ({ kind: 'pinned', units: pinnedOf(byUse, needs) })),
        random: hitRate(() => EVICTIONS.random),
        belady: hitRate((needs) => ({ kind: 'belady', needs })),
      },
      expected: {
        lru: leastRecent(expected),
        independent: leastRecent(independent),
        pinned:
          pool === 'all'
            ? mostUsedHitRate(
                shares.flatMap((share) => [...share]),
                slotsOfCache,
              )
            : mean(shares.map((share) => mostUsedHitRate(share, each))),
      },
    };
  });
  return { rows, recurrence };
}

/** All units by falling use. */
function mostUsed(shares: readonly Float64Array[], experts: number): number[] {
  return shares
    .flatMap((share, layer) => Array.from(share, (used, expert) => ({ unit: layer * experts + expert, used })))
    .sort((a, b) => b.used - a.used)
    .map(({ unit }) => unit);
}

/** Units among `byUse` that a cache may hold: of one layer, or of all. */
function pinnedOf(byUse: readonly number[], needs: readonly number[]): number[] {
  const needed = new Set(needs);
  return byUse.filter((unit) => needed.has(unit));
}
