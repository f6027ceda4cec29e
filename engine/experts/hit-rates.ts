import { randomStream } from '../input/random-stream.ts';
import { createGuesser, type GuessesCase } from './draw-guesses.ts';
import { drawnRouting } from './drawn-routings.ts';
import { createExpertCaches, type ExpertCachesCase } from './expert-caches.ts';
import { fitRecurrence } from './fit-recurrence.ts';
import { layersOf, ONE_TOKEN, type PassTokens, type Routing, unionOf } from './routing.ts';
import { createUnitCache, type Eviction, type ReadUnit } from './unit-cache.ts';
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

/** Knowledge of some layers, such as those of one device. @param layers their places among those with experts */
export function knownOfLayers(known: KnownRouting, layers: readonly number[]): KnownRouting {
  if (known.kind === 'recorded') return { ...known, routing: layersOf(known.routing, layers) };
  if (layers.length === known.shares.length) return known;
  return { ...known, shares: layers.map((layer) => known.shares[layer] as ArrayLike<number>) };
}

/** How likely a layer misses this many of a pass's experts: from 0 to all that it needs. */
export type MissShares = readonly number[];

/** Hits and misses of caches on a routing. */
export interface Hits {
  /** Experts that a pass needs in a layer, in the mean: k for one token. */
  readonly needed: number;
  /** Share of them that is held, or was guessed. */
  readonly rate: number;
  readonly misses: MissShares;
  /** Share of the experts that are read, after a router's choice or ahead of it, that file pages have. */
  readonly cached: number;
  /** Experts of a layer that are read since they were guessed, in the mean over layers that are guessed. */
  readonly guessed: number;
}

/** File pages through which slots are filled. */
export interface PagesBehind {
  /** Experts that they have room for. */
  readonly room: number;
  /** Whether the operating system protects what it read again, as Linux's two lists do, or keeps what it read last. */
  readonly protectsReread: boolean;
}

/** Caches, and how experts are guessed; they aren't unless `lookahead` is given. */
export interface HitsCase extends Omit<ExpertCachesCase, 'slots'> {
  /** k */
  readonly used: number;
  readonly lookahead?: Omit<GuessesCase, 'routing'> | undefined;
  /** Default: one token of one text. Nothing is guessed for a pass of more. */
  readonly pass?: PassTokens | undefined;
  /** Default: none. */
  readonly pages?: PagesBehind | undefined;
}

/** Seed of what is guessed, in simulations too. */
export const GUESSES_SEED = 1;

/** Working sets of layers that were asked for: predictions ask again for every size of a cache, and of every device. */
const knownSets = new WeakMap<ArrayLike<number>, Map<Recurrence, WorkingSet>>();

/** The working set of each layer; layers that share their popularity share it too. */
function workingSetsOf({ shares, recurrence }: KnownRouting & { readonly kind: 'statistics' }): readonly WorkingSet[] {
  return shares.map((share) => {
    const own = knownSets.get(share) ?? new Map<Recurrence, WorkingSet>();
    knownSets.set(share, own);
    const set = own.get(recurrence) ?? expectedWorkingSet(share, recurrence, LONGEST);
    own.set(recurrence, set);
    return set;
  });
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
 * `pinned-hottest`) by popularity, misses of a layer independent of each other; other policies, lookahead, file pages behind slots,
 * and passes of several tokens, whose experts are a union, are replayed on a routing that is drawn.
 */
export function createHits(known: KnownRouting, one: HitsCase): (slots: number) => Hits {
  const { policy, layers, experts, used, lookahead, pages, pass = ONE_TOKEN } = one;
  const replayed = (routing: Routing) => (slots: number) =>
    slots === 0
      ? nothingHeld(routing, pass)
      : replayCaches({ policy, layers: routing.layers, experts, slots, lookahead, used, pass, pages }, routing);
  if (known.kind === 'recorded') return replayed(known.routing);
  const { shares } = known;
  const closed = (rate: (slots: number) => number) => (slots: number) => {
    const hits = slots === 0 ? 0 : Math.min(1, Math.max(0, rate(slots)));
    return { needed: used, rate: hits, misses: binomial(used, 1 - hits), cached: 0, guessed: 0 };
  };
  const drawnLayers = policy.pool === 'all' ? layers : Math.min(layers, DRAWN_LAYERS);
  const drawn = () => replayed(drawnRouting(known, { tokens: DRAWN_TOKENS, layers: drawnLayers, used, seed: 1 }));
  if (pass.texts * pass.tokens > 1 || (pages?.room ?? 0) > 0) return drawn();
  if (lookahead !== undefined && lookahead.lookahead.kind !== 'none') return drawn();
  const isAll = policy.pool === 'all';
  switch (policy.eviction) {
    case 'lru':
    case 'least-stale': {
      // For a single layer this is lru.
      if (isAll && policy.eviction === 'least-stale') return drawn();
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

/** Passes of a routing, each text from its own begin on. */
function passesOf({ tokens }: Routing, pass: PassTokens): number {
  return Math.max(2, Math.floor(tokens / pass.tokens));
}

/** The hits of caches on a routing, after the first half of its passes has filled them. */
export function replayCaches(one: HitsCase & { readonly slots: number }, routing: Routing): Hits {
  const own = createExpertCaches(one);
  const { pass = ONE_TOKEN } = one;
  const { layers } = routing;
  const isSingle = pass.texts * pass.tokens === 1;
  const guess = createGuesser(
    { lookahead: { kind: 'none' }, ...(isSingle && one.lookahead), routing },
    randomStream(GUESSES_SEED, 'guesses'),
  );
  const passes = passesOf(routing, pass);
  const warmUp = passes >> 1;
  const counts: number[] = [];
  const pages = pagesBehind(one.pages);
  let [guessed, needed, read, cached] = [0, 0, 0, 0];
  for (let index = 0; index < passes; index++)
    for (let layer = 0; layer < layers; layer++) {
      const union = unionOf(routing, pass, index * pass.tokens, layer);
      let [missing, found] = [0, 0];
      // More than there are slots for come in groups.
      for (let first = 0; first < union.length; first += own.slots) {
        const late = own.need(layer, union.slice(first, first + own.slots));
        missing += late.length;
        found += pages(late);
      }
      const brought = layer + 1 < layers ? own.bring(layer + 1, guess(index, layer + 1)) : [];
      found += pages(brought);
      if (index < warmUp) continue;
      counts[missing] = (counts[missing] ?? 0) + 1;
      needed += union.length;
      guessed += brought.length;
      read += missing + brought.length;
      cached += found;
    }
  const counted = passes - warmUp;
  const misses = Array.from(counts, (count = 0) => count / (layers * counted));
  const each = needed / (layers * counted);
  return {
    ...{ needed: each, misses, guessed: guessed / (Math.max(1, layers - 1) * counted) },
    rate: 1 - expected(misses) / each,
    cached: read === 0 ? 0 : cached / read,
  };
}

/** The share of file pages that Linux keeps for what it read again, as long as memory is below a gigabyte or so (inactive_is_low). */
const REREAD_SHARE = 0.5;

/** @returns a function that says how many of some experts that are read file pages have, and keeps them */
function pagesBehind(pages: PagesBehind | undefined): (read: readonly ReadUnit[]) => number {
  if (pages === undefined || pages.room === 0) return () => 0;
  const eviction: Eviction = pages.protectsReread ? { kind: 'slru', share: REREAD_SHARE } : { kind: 'lru' };
  const cache = createUnitCache({ slots: pages.room, eviction, sparesNeeded: false, seed: 0 });
  return (read) => read.length - cache.need(read.map(({ unit }) => unit)).length;
}

/** Hits without slots: none. */
function nothingHeld(routing: Routing, pass: PassTokens): Hits {
  const sizes: number[] = [];
  for (let index = 0; index < passesOf(routing, pass); index++)
    for (let layer = 0; layer < routing.layers; layer++)
      sizes.push(unionOf(routing, pass, index * pass.tokens, layer).length);
  const misses = new Array<number>(Math.max(...sizes) + 1).fill(0);
  for (const size of sizes) misses[size] = (misses[size] as number) + 1 / sizes.length;
  return { needed: expected(misses), rate: 0, misses, cached: 0, guessed: 0 };
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

/** How likely this many of `tries` succeed, from 0 on. */
export function binomial(tries: number, probability: number): number[] {
  const shares = new Array<number>(tries + 1).fill(0);
  shares[0] = 1;
  for (let done = 0; done < tries; done++)
    for (let successes = done + 1; successes >= 0; successes--)
      shares[successes] =
        (shares[successes] as number) * (1 - probability) +
        (successes === 0 ? 0 : (shares[successes - 1] as number) * probability);
  return shares;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
