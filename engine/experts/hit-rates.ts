import { randomStream } from '../input/random-stream.ts';
import { createGuesser, type GuessesCase } from './draw-guesses.ts';
import { drawnRouting } from './drawn-routings.ts';
import { createExpertCaches, type ExpertCachesCase } from './expert-caches.ts';
import { fitRecurrence } from './fit-recurrence.ts';
import { expertsOf, type Routing } from './routing.ts';
import {
  expectedWorkingSet,
  leastRecentHitRate,
  measuredWorkingSets,
  mostUsedHitRate,
  pooledHitRate,
  type Recurrence,
  sharesOf,
  type WorkingSet,
} from './working-set.ts';

/** Knowledge of a mixture's routing: a routing itself, or popularity and recurrence. */
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

/** Hits and misses of caches on a routing. */
export interface Hits {
  /** Share of a token's experts that are held, or were guessed. */
  readonly rate: number;
  readonly misses: MissShares;
  /** Experts of a layer that are read since they were guessed, in the mean over layers that are guessed. */
  readonly guessed: number;
}

/** Caches, and how experts are guessed; they aren't unless `lookahead` is given. */
export interface HitsCase extends Omit<ExpertCachesCase, 'slots'> {
  /** k */
  readonly used: number;
  readonly lookahead?: Omit<GuessesCase, 'routing'> | undefined;
}

/** Seed of what is guessed, in simulations too. */
export const GUESSES_SEED = 1;

/** Working sets of routings that were asked for: predictions ask again for every size of a cache. */
const knownSets = new WeakMap<KnownRouting, readonly WorkingSet[]>();

/** The working set of each layer; layers that share their popularity share it too. */
function workingSetsOf(known: KnownRouting & { readonly kind: 'statistics' }): readonly WorkingSet[] {
  const found = knownSets.get(known);
  if (found !== undefined) return found;
  const ofShare = new Map<ArrayLike<number>, WorkingSet>();
  for (const share of known.shares)
    if (!ofShare.has(share)) ofShare.set(share, expectedWorkingSet(share, known.recurrence, LONGEST));
  const sets = known.shares.map((share) => ofShare.get(share) as WorkingSet);
  knownSets.set(known, sets);
  return sets;
}

/** Windows, in tokens, within which caches of almost all experts turn over. */
const LONGEST = 400;
/** Tokens that are drawn where a policy has no closed form, half of them to fill the caches. */
const DRAWN_TOKENS = 256;
/** Layers that are drawn where each has a cache of its own: their mean stands for all. */
const DRAWN_LAYERS = 8;

/**
 * The hits of caches by their slots. Of a recorded routing they are those of its second half in caches that the first half has
 * filled. From statistics they follow in closed form: of `lru` by the working set, of what is used most (`lfu`,
 * `pinned-hottest`) by popularity, misses of a layer independent of each other; other policies, and lookahead, are replayed on a
 * routing that is drawn.
 */
export function createHits(known: KnownRouting, one: HitsCase): (slots: number) => Hits {
  const { policy, layers, experts, used, lookahead } = one;
  const replayed = (routing: Routing) => (slots: number) =>
    slots === 0
      ? { rate: 0, misses: binomial(used, 1), guessed: 0 }
      : replayCaches({ policy, layers: routing.layers, experts, slots, lookahead, used }, routing, routing.tokens >> 1);
  if (known.kind === 'recorded') return replayed(known.routing);
  const { shares } = known;
  const closed = (rate: (slots: number) => number) => (slots: number) => {
    const hits = slots === 0 ? 0 : Math.min(1, Math.max(0, rate(slots)));
    return { rate: hits, misses: binomial(used, 1 - hits), guessed: 0 };
  };
  const drawnLayers = policy.pool === 'all' ? layers : Math.min(layers, DRAWN_LAYERS);
  const drawn = () => replayed(drawnRouting(known, { tokens: DRAWN_TOKENS, layers: drawnLayers, used, seed: 1 }));
  if (lookahead !== undefined && lookahead.lookahead.kind !== 'none') return drawn();
  const isAll = policy.pool === 'all';
  switch (policy.eviction) {
    case 'lru': {
      const sets = workingSetsOf(known);
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
      return drawn();
  }
}

/** The hits of caches on a routing, after its first tokens have filled them. */
export function replayCaches(one: HitsCase & { readonly slots: number }, routing: Routing, warmUp: number): Hits {
  const own = createExpertCaches(one);
  const { tokens, layers, used } = routing;
  const guess = createGuesser(
    { lookahead: { kind: 'none' }, ...one.lookahead, routing },
    randomStream(GUESSES_SEED, 'guesses'),
  );
  const counts = new Array<number>(used + 1).fill(0);
  let guessed = 0;
  for (let token = 0; token < tokens; token++)
    for (let layer = 0; layer < layers; layer++) {
      const missing = own.need(layer, expertsOf(routing, token, layer)).length;
      const ahead = layer + 1 < layers ? own.bring(layer + 1, guess(token, layer + 1)).length : 0;
      if (token < warmUp) continue;
      counts[missing] = (counts[missing] as number) + 1;
      guessed += ahead;
    }
  const counted = tokens - warmUp;
  const misses = counts.map((count) => count / (layers * counted));
  return { rate: 1 - expected(misses) / used, misses, guessed: guessed / (Math.max(1, layers - 1) * counted) };
}

/**
 * Uses of slots, of a token's experts in all layers, that find their slot swapped out, where the operating system keeps the
 * `resident` slots that were used last, of whatever cache. They are those that come again after more tokens than those
 * slots last for: of hits, and of misses whose victim was as old.
 * @param slots of each cache
 */
export function swappedUses(
  known: KnownRouting,
  {
    pool,
    slots,
    resident,
  }: Pick<ExpertCachesCase['policy'], 'pool'> & { readonly slots: number; readonly resident: number },
): number {
  const sets = known.kind === 'recorded' ? measuredWorkingSets(known.routing, LONGEST) : workingSetsOf(known);
  const caches = pool === 'layer' ? sets : [sumOf(sets)];
  const usedSlots = (tokens: number): number =>
    caches.reduce((sum, { different }) => sum + Math.min(slots, different(tokens)), 0);
  const last = Math.min(...caches.map(({ longest }) => longest)) - 1;
  let tokens = 0;
  while (tokens < last && usedSlots(tokens + 1) <= resident) tokens++;
  return caches.reduce((sum, { different }) => {
    const [now, next] = [different(tokens), different(tokens + 1)];
    return now >= slots ? sum : sum + next - now;
  }, 0);
}

function sumOf(sets: readonly WorkingSet[]): WorkingSet {
  return {
    longest: Math.min(...sets.map(({ longest }) => longest)),
    different: (tokens) => sets.reduce((sum, set) => sum + set.different(tokens), 0),
  };
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
