import { type RandomStream, randomStream } from '../input/random-stream.ts';
import { createRankedUnits } from './ranked-units.ts';
import { RecencyList } from './recency-list.ts';

/**
 * A cache of equal units, such as the experts of a layer or of a whole mixture, which decides what is held and what is
 * evicted, access by access; it has no memory of its own.
 */
export interface UnitCache {
  /** Units that are held. */
  readonly size: number;
  holds(unit: number): boolean;
  /**
   * Needs different units together, one after the other.
   * @returns those that weren't held and must be read, in order
   */
  need(units: ArrayLike<number>): readonly ReadUnit[];
  /**
   * Brings different units ahead of their need. No need is counted, units that are held stay as they are, and neither
   * spared nor brought ones are evicted: a unit for which no other leaves isn't brought.
   * @returns those that must be read, in order
   * @throws RangeError for belady, which knows no other needs than those announced
   */
  bring(units: ArrayLike<number>, isSpared: (unit: number) => boolean): readonly ReadUnit[];
}

/** A unit that is read. */
export interface ReadUnit {
  readonly unit: number;
  /** The unit whose slot it takes; missing where a slot was free, or where it takes none. */
  readonly victim?: number;
  /** Whether it has a slot; otherwise it is gone after its use. */
  readonly kept: boolean;
}

/** How the unit is chosen that has to leave. */
export type Eviction =
  /** The one that was needed least recently. */
  | { readonly kind: 'lru' }
  /** The one that was needed least often since the beginning; among equals the least recently needed. */
  | { readonly kind: 'lfu' }
  /**
   * Segmented LRU (Karedla, Love and Wherry 1994): units that were needed again while held are protected, in `share` of
   * the slots; the others leave first.
   */
  | { readonly kind: 'slru'; readonly share: number }
  /** The one with the fewest needs for the time since its last, among `sample` units drawn at random. */
  | { readonly kind: 'lfru'; readonly sample: number }
  /** Only these are held, as many as there are slots for, in this order; others are read for one use. */
  | { readonly kind: 'pinned'; readonly units: readonly number[] }
  /** The one that was needed least often so far, unless the new one was needed no oftener: that is read for one use then. */
  | { readonly kind: 'hottest' }
  /**
   * Least-stale (Hoang et al. 2026, arXiv 2602.03921), for a cache of several layers, `layerUnits` units each. A unit is
   * stale unless the running pass has needed or brought it. Stale ones of layers that the pass has reached leave first,
   * since it needs them no more: those of the layer that it was in longest ago; then stale ones of layers to come, the
   * farthest first; then others, from the first layer on. Units of the same layer leave in the order of their last needs,
   * so that for a single layer this is lru.
   */
  | { readonly kind: 'least-stale'; readonly layerUnits: number }
  | { readonly kind: 'random' }
  /** The one whose next need is farthest away (Belady 1966), with all that will be needed, in order. */
  | { readonly kind: 'belady'; readonly needs: ArrayLike<number> };

export interface UnitCacheOptions {
  /** At least one. */
  readonly slots: number;
  readonly eviction: Eviction;
  /** Units that are needed together evict none of each other while there is another. */
  readonly sparesNeeded: boolean;
  /** Seed of policies that draw. */
  readonly seed: number;
}

/** A policy's record of its units. */
interface Policy {
  /** A unit is needed, held or not. */
  needed(unit: number, isHeld: boolean): void;
  /** A unit that was needed, or is brought ahead of that, takes a slot. */
  kept(unit: number): void;
  evicted(unit: number): void;
  /**
   * The unit that leaves; `undefined` to keep the new one out.
   * @param held all units that are held, the least recently needed first
   */
  victim(held: RecencyList, isSpared: (unit: number) => boolean): number | undefined;
}

/** @throws RangeError without a slot */
export function createUnitCache({ slots, eviction, sparesNeeded, seed }: UnitCacheOptions): UnitCache {
  if (!(slots >= 1)) throw new RangeError(`a cache of ${slots} slots; one is the least`);
  const policy = policyOf(eviction, slots, seed);
  const isOptional = eviction.kind === 'hottest';
  /** In order of the last need. */
  const held = new RecencyList();
  if (eviction.kind === 'pinned') for (const unit of eviction.units.slice(0, slots)) held.add(unit);
  /** Units that are needed, or brought, together. */
  let together: ArrayLike<number> = [];
  const isTogether = (unit: number): boolean => includes(together, unit);
  const place = (unit: number, isSpared: (unit: number) => boolean): ReadUnit => {
    if (held.size < slots && eviction.kind !== 'pinned') return { unit, kept: true };
    // A unit that is needed now makes no room for one that may stay out.
    const victim = policy.victim(held, isSpared) ?? (isOptional ? undefined : policy.victim(held, spareNone));
    if (victim === undefined) return { unit, kept: false };
    held.remove(victim);
    policy.evicted(victim);
    return { unit, victim, kept: true };
  };
  return {
    get size() {
      return held.size;
    },
    holds: (unit) => held.has(unit),
    need(units) {
      together = units;
      const isSpared = sparesNeeded ? isTogether : spareNone;
      const read: ReadUnit[] = [];
      for (let index = 0; index < units.length; index++) {
        const unit = units[index] as number;
        const isHeld = held.remove(unit);
        policy.needed(unit, isHeld);
        if (!isHeld) {
          const placed = place(unit, isSpared);
          read.push(placed);
          if (!placed.kept) continue;
          policy.kept(unit);
        }
        held.add(unit);
      }
      return read;
    },
    bring(units, isSpared) {
      if (eviction.kind === 'belady') throw new RangeError('belady has no units that are brought ahead');
      const isKept = (unit: number): boolean => includes(units, unit) || isSpared(unit);
      const read: ReadUnit[] = [];
      for (let index = 0; index < units.length; index++) {
        const unit = units[index] as number;
        if (held.has(unit)) continue;
        const isFree = held.size < slots && eviction.kind !== 'pinned';
        // A unit that wasn't needed is no hotter than any other.
        const isOut = isFree || isOptional;
        const victim = isOut ? undefined : policy.victim(held, isKept);
        if (!isFree && victim === undefined) continue;
        if (victim !== undefined) {
          held.remove(victim);
          policy.evicted(victim);
        }
        policy.kept(unit);
        held.add(unit);
        read.push(victim === undefined ? { unit, kept: true } : { unit, victim, kept: true });
      }
      return read;
    },
  };
}

const spareNone = (): boolean => false;

/** Units of a few, which are searched one by one. */
function includes(units: ArrayLike<number>, unit: number): boolean {
  for (let index = 0; index < units.length; index++) if (units[index] === unit) return true;
  return false;
}

function policyOf(eviction: Eviction, slots: number, seed: number): Policy {
  switch (eviction.kind) {
    case 'lru':
      return leastRecent();
    case 'lfu':
      return leastOften();
    case 'slru':
      return segmented(Math.max(1, Math.floor(eviction.share * slots)));
    case 'lfru':
      return leastOftenAndRecent(eviction.sample, randomStream(seed, 'lfru'));
    case 'pinned':
      return { ...leastRecent(), victim: () => undefined };
    case 'hottest':
      return mostOften();
    case 'least-stale':
      return leastStale(eviction.layerUnits);
    case 'random':
      return drawn(randomStream(seed, 'random eviction'));
    case 'belady':
      return farthestNeed(eviction.needs);
  }
}

function leastRecent(): Policy {
  return {
    needed() {},
    kept() {},
    evicted() {},
    victim: (held, isSpared) => held.oldest(isSpared),
  };
}

function leastOften(): Policy {
  const uses = new Map<number, number>();
  const held = createRankedUnits();
  const rank = (unit: number): void => held.rank(unit, uses.get(unit) ?? 0);
  return {
    needed(unit, isHeld) {
      uses.set(unit, (uses.get(unit) ?? 0) + 1);
      if (isHeld) rank(unit);
    },
    kept: rank,
    evicted: held.remove,
    victim: (_, isSpared) => held.least(isSpared),
  };
}

function mostOften(): Policy {
  const uses = new Map<number, number>();
  const held = createRankedUnits();
  const usesOf = (unit: number): number => uses.get(unit) ?? 0;
  let needed = 0;
  return {
    needed(unit, isHeld) {
      needed = unit;
      uses.set(unit, (uses.get(unit) ?? 0) + 1);
      if (isHeld) held.rank(unit, usesOf(unit));
    },
    kept: (unit) => held.rank(unit, usesOf(unit)),
    evicted: held.remove,
    victim: (_, isSpared) => {
      const least = held.least(isSpared);
      return least !== undefined && usesOf(least) < usesOf(needed) ? least : undefined;
    },
  };
}

function segmented(protectedSlots: number): Policy {
  const onProbation = new RecencyList();
  const isProtected = new RecencyList();
  return {
    needed(unit, isHeld) {
      if (!isHeld) return;
      onProbation.remove(unit);
      isProtected.remove(unit);
      isProtected.add(unit);
      if (isProtected.size <= protectedSlots) return;
      const oldest = isProtected.oldest(spareNone) as number;
      isProtected.remove(oldest);
      onProbation.add(oldest);
    },
    kept: (unit) => onProbation.add(unit),
    evicted(unit) {
      onProbation.remove(unit);
      isProtected.remove(unit);
    },
    victim: (_, isSpared) => onProbation.oldest(isSpared) ?? isProtected.oldest(isSpared),
  };
}

function leastStale(layerUnits: number): Policy {
  /** The units of each layer that are held, in the order of their last use, with the pass of it. */
  const layers: Map<number, number>[] = [];
  let [pass, layer] = [0, 0];
  const layerOf = (unit: number): number => Math.floor(unit / layerUnits);
  const heldOf = (index: number): Map<number, number> => {
    layers[index] ??= new Map();
    return layers[index];
  };
  const use = (unit: number): void => {
    const own = heldOf(layerOf(unit));
    own.delete(unit);
    own.set(unit, pass);
  };
  /** The first unit of a layer to leave. @param before passes whose units may */
  const first = (index: number, isSpared: (unit: number) => boolean, before: number): number | undefined => {
    for (const [unit, last] of layers[index] ?? []) {
      if (last >= before) return undefined;
      if (!isSpared(unit)) return unit;
    }
    return undefined;
  };
  return {
    needed(unit, isHeld) {
      // A pass goes through its layers in order.
      if (layerOf(unit) < layer) pass += 1;
      layer = layerOf(unit);
      if (isHeld) use(unit);
    },
    kept: use,
    evicted: (unit) => void heldOf(layerOf(unit)).delete(unit),
    victim(_, isSpared) {
      for (let index = 0; index <= layer; index++) {
        const found = first(index, isSpared, pass);
        if (found !== undefined) return found;
      }
      for (let index = layers.length - 1; index > layer; index--) {
        const found = first(index, isSpared, pass);
        if (found !== undefined) return found;
      }
      for (let index = 0; index < layers.length; index++) {
        const found = first(index, isSpared, Number.POSITIVE_INFINITY);
        if (found !== undefined) return found;
      }
      return undefined;
    },
  };
}

/** Units that are held, from which some are drawn. */
function createUrn(random: RandomStream) {
  const units: number[] = [];
  const places = new Map<number, number>();
  return {
    add(unit: number): void {
      places.set(unit, units.push(unit) - 1);
    },
    remove(unit: number): void {
      const place = places.get(unit) as number;
      const last = units.pop() as number;
      places.delete(unit);
      if (last === unit) return;
      units[place] = last;
      places.set(last, place);
    },
    /** Up to this many different units that aren't spared. */
    draw(most: number, isSpared: (unit: number) => boolean): number[] {
      const drawn = new Set<number>();
      for (let tries = 0; tries < TRIES * most && drawn.size < most && units.length > 0; tries++) {
        const unit = random.pick(units);
        if (!isSpared(unit)) drawn.add(unit);
      }
      if (drawn.size === 0) for (const unit of units) if (!isSpared(unit)) return [unit];
      return [...drawn];
    },
  };
}

/** Draws for each unit that is looked for, as some come twice and others are spared. */
const TRIES = 4;

function leastOftenAndRecent(sample: number, random: RandomStream): Policy {
  const uses = new Map<number, number>();
  const last = new Map<number, number>();
  const held = createUrn(random);
  let time = 0;
  /** A unit that was brought ahead and not needed yet is worth nothing. */
  const worth = (unit: number): number => {
    const count = uses.get(unit) ?? 0;
    return count === 0 ? 0 : count / (time - (last.get(unit) as number));
  };
  return {
    needed(unit) {
      time += 1;
      uses.set(unit, (uses.get(unit) ?? 0) + 1);
      last.set(unit, time);
    },
    kept: held.add,
    evicted: held.remove,
    victim: (_, isSpared) => held.draw(sample, isSpared).sort((one, other) => worth(one) - worth(other))[0],
  };
}

function drawn(random: RandomStream): Policy {
  const held = createUrn(random);
  return {
    needed() {},
    kept: held.add,
    evicted: held.remove,
    victim: (_, isSpared) => held.draw(1, isSpared)[0],
  };
}

function farthestNeed(needs: ArrayLike<number>): Policy {
  const nextOf = new Float64Array(needs.length);
  const seen = new Map<number, number>();
  for (let at = needs.length - 1; at >= 0; at--) {
    nextOf[at] = seen.get(needs[at] as number) ?? Number.POSITIVE_INFINITY;
    seen.set(needs[at] as number, at);
  }
  const held = createRankedUnits();
  let at = 0;
  const rank = (unit: number): void => held.rank(unit, -(nextOf[at - 1] as number));
  return {
    needed(unit, isHeld) {
      if (needs[at] !== unit) throw new RangeError(`unit ${unit} is needed where ${needs[at]} was announced`);
      at += 1;
      if (isHeld) rank(unit);
    },
    kept: rank,
    evicted: held.remove,
    victim: () => held.least(spareNone),
  };
}
