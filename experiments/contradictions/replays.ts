import { EVICTIONS, type EvictionName } from '../../engine/experts/evictions.ts';
import { replayRouting } from '../../engine/experts/replay-routing.ts';
import { expertsOf, layersOf, type Routing, tokensOf, usesOf } from '../../engine/experts/routing.ts';
import { createUnitCache, type Eviction } from '../../engine/experts/unit-cache.ts';
import type { slotsOf } from './case.ts';

type Slots = ReturnType<typeof slotsOf>;

/** The hit rate of the tokens behind the first `warmUp`. */
export function hitRate(
  routing: Routing,
  { pool, slots }: Slots,
  eviction: EvictionName | 'belady',
  warmUp: number,
): number {
  const evictionOf = (needs: readonly number[]): Eviction =>
    eviction === 'belady' ? { kind: 'belady', needs } : EVICTIONS[eviction];
  const { hits, needs } = replayRouting({
    ...{ routing, pool, slots, eviction: evictionOf, sparesNeeded: true, seed: 1, warmUp },
  });
  return hits / needs;
}

/**
 * The hit rate of the second half of a routing in caches that hold what its first half used most in `pins` of their slots; the
 * others are empty at first, and evict what was used least recently.
 */
export function pinnedRate(routing: Routing, { pool, slots }: Slots, pins: number): number {
  const { layers, experts, used } = routing;
  const half = routing.tokens >> 1;
  const uses = usesOf(tokensOf(routing, 0, half));
  const ranked = (own: readonly number[]): number[] => {
    const units = own.flatMap((layer) =>
      Array.from(uses[layer] as Uint32Array, (count, expert) => ({ unit: layer * experts + expert, count })),
    );
    return units.sort((a, b) => b.count - a.count).map(({ unit }) => unit);
  };
  const all = Array.from({ length: layers }, (_, layer) => layer);
  const groups = pool === 'all' ? [all] : all.map((layer) => [layer]);
  let missing = 0;
  for (const group of groups) {
    const pinned = new Set(ranked(group).slice(0, pins));
    const rest =
      pins === slots
        ? undefined
        : createUnitCache({ slots: slots - pins, eviction: EVICTIONS.lru, sparesNeeded: true, seed: 1 });
    for (let token = half; token < routing.tokens; token++)
      for (const layer of group) {
        const units = Array.from(expertsOf(routing, token, layer), (expert) => layer * experts + expert);
        const others = units.filter((unit) => !pinned.has(unit));
        missing += rest === undefined ? others.length : rest.need(others).length;
      }
  }
  return 1 - missing / ((routing.tokens - half) * layers * used);
}

/** The share of all experts of all layers that any token uses. */
export function usedShare(routing: Routing): number {
  const distinct = usesOf(routing).reduce((sum, uses) => sum + uses.filter((count) => count > 0).length, 0);
  return distinct / (routing.layers * routing.experts);
}

/**
 * Slots of each layer, with this mean, that hit the most of a routing under LRU: each next slot goes where it hits most.
 */
export function fittedSlots(routing: Routing, mean: number): number[] {
  const { layers, experts, used } = routing;
  const rates = layerRates(routing);
  const slots = new Array<number>(layers).fill(used);
  for (let left = layers * (mean - used); left > 0; left--) {
    let best = 0;
    let most = -1;
    for (const [layer, own] of slots.entries()) {
      const gain = own >= experts ? -1 : (rates(layer, own + 1) as number) - (rates(layer, own) as number);
      if (gain > most) [best, most] = [layer, gain];
    }
    slots[best] = (slots[best] as number) + 1;
  }
  return slots;
}

/** The mean hit rate of layers with slots of their own, caches being filled by the routing's first half. */
export function hitRateOfSlots(routing: Routing, slots: readonly number[]): number {
  const rates = layerRates(routing);
  return slots.reduce((sum, own, layer) => sum + rates(layer, own), 0) / slots.length;
}

/** Hit rates of one layer's LRU cache by its slots, each computed once. */
function layerRates(routing: Routing): (layer: number, slots: number) => number {
  const known = new Map<string, number>();
  return (layer, slots) => {
    const key = `${layer} ${slots}`;
    const rate =
      known.get(key) ?? hitRate(layersOf(routing, [layer]), { pool: 'all', slots }, 'lru', routing.tokens >> 1);
    known.set(key, rate);
    return rate;
  };
}
