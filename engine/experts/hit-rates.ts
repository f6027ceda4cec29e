import { drawRouting } from './draw-routing.ts';
import { createExpertCaches, type ExpertCachesCase } from './expert-caches.ts';
import { fitRecurrence } from './fit-recurrence.ts';
import { expertsOf, type Routing } from './routing.ts';
import {
  expectedWorkingSet,
  leastRecentHitRate,
  mostUsedHitRate,
  pooledHitRate,
  type Recurrence,
  sharesOf,
  type WorkingSet,
} from './working-set.ts';

/** What is known of a mixture's routing: a routing itself, or popularity and recurrence. */
export type KnownRouting =
  | { readonly kind: 'recorded'; readonly routing: Routing }
  | {
      readonly kind: 'statistics';
      /** Probability that a token uses each expert: [layers][experts]; the sum of a layer is k. */
      readonly shares: readonly ArrayLike<number>[];
      readonly recurrence: Recurrence;
    };

/** Popularity and recurrence of a routing. */
export function statisticsOf(routing: Routing): KnownRouting & { readonly kind: 'statistics' } {
  return { kind: 'statistics', shares: sharesOf(routing), recurrence: fitRecurrence(routing) };
}

/** How likely a layer misses so many of a token's experts: from 0 to k. */
export type MissShares = readonly number[];

/** What caches hit of a routing. */
export interface Hits {
  /** Share of a token's experts that are held. */
  readonly rate: number;
  readonly misses: MissShares;
}

/** Windows, in tokens, within which caches of almost all experts turn over. */
const LONGEST = 400;
/** Tokens that are drawn where a policy has no closed form, half of them to fill the caches. */
const DRAWN_TOKENS = 256;

/**
 * The hits of caches by their slots. Of a recorded routing they are those of its second half in caches that the first half has
 * filled. From statistics they follow in closed form: of `lru` by the working set, of what is used most (`lfu`,
 * `pinned-hottest`) by popularity, misses of a layer independent of each other; other policies are replayed on a routing that is
 * drawn.
 */
export function createHits(
  known: KnownRouting,
  { policy, layers, experts, used }: Omit<ExpertCachesCase, 'slots'> & { readonly used: number },
): (slots: number) => Hits {
  const replayed = (routing: Routing) => (slots: number) =>
    slots === 0 ? NO_HITS(used) : replayCaches({ policy, layers, experts, slots }, routing, routing.tokens >> 1);
  if (known.kind === 'recorded') return replayed(known.routing);
  const { shares, recurrence } = known;
  const closed = (rate: (slots: number) => number) => (slots: number) => {
    const hits = slots === 0 ? 0 : Math.min(1, Math.max(0, rate(slots)));
    return { rate: hits, misses: binomial(used, 1 - hits) };
  };
  const isAll = policy.pool === 'all';
  switch (policy.eviction) {
    case 'lru': {
      const sets: WorkingSet[] = shares.map((share) => expectedWorkingSet(share, recurrence, LONGEST));
      return closed((slots) =>
        isAll ? pooledHitRate(sets, slots) : mean(sets.map((set) => leastRecentHitRate(set, slots))),
      );
    }
    case 'lfu':
    case 'pinned-hottest': {
      const all = shares.flatMap((share) => Array.from(share));
      return closed((slots) =>
        isAll ? mostUsedHitRate(all, slots) : mean(shares.map((share) => mostUsedHitRate(share, slots))),
      );
    }
    default:
      return replayed(drawRouting({ tokens: DRAWN_TOKENS, used, popularity: shares, recurrence, seed: 1 }));
  }
}

const NO_HITS = (used: number): Hits => ({ rate: 0, misses: binomial(used, 1) });

/** The hits of caches on a routing, after its first tokens have filled them. */
export function replayCaches(caches: ExpertCachesCase, routing: Routing, warmUp: number): Hits {
  const own = createExpertCaches(caches);
  const { tokens, layers, used } = routing;
  const counts = new Array<number>(used + 1).fill(0);
  for (let token = 0; token < tokens; token++)
    for (let layer = 0; layer < layers; layer++) {
      const missing = own.need(layer, expertsOf(routing, token, layer)).length;
      if (token >= warmUp) counts[missing] = (counts[missing] as number) + 1;
    }
  const misses = counts.map((count) => count / (layers * (tokens - warmUp)));
  return { rate: 1 - expected(misses) / used, misses };
}

/** Misses of a layer in the mean. */
export function expected(misses: MissShares): number {
  return misses.reduce((sum, share, missing) => sum + missing * share, 0);
}

/** How likely so many of `tries` succeed, from 0 on. */
export function binomial(tries: number, probability: number): number[] {
  let shares = [1];
  for (let one = 0; one < tries; one++)
    shares = Array.from(
      { length: shares.length + 1 },
      (_, successes) => (shares[successes] ?? 0) * (1 - probability) + (shares[successes - 1] ?? 0) * probability,
    );
  return shares;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
