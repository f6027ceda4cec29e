import { type ExpertsPolicy, evictionOf } from './experts-policy.ts';
import { createUnitCache, type ReadUnit, type UnitCache } from './unit-cache.ts';

export interface ExpertCachesCase {
  readonly policy: Pick<ExpertsPolicy, 'pool' | 'eviction'>;
  /** Slots of each layer's cache, or of the one for all layers. */
  readonly slots: number;
  /** Layers with experts, and N, the experts of each. */
  readonly layers: number;
  readonly experts: number;
}

/** The caches of a mixture's experts under a policy: one for each layer, or one for all of them. */
export interface ExpertCaches {
  /** Experts that can be in memory together with one of a layer. */
  readonly slots: number;
  holds(layer: number, expert: number): boolean;
  /**
   * Needs different experts of a layer together.
   * @returns those that must be read, by `unitOf`
   */
  need(layer: number, experts: ArrayLike<number>): readonly ReadUnit[];
  /**
   * Brings different experts of a layer ahead of their need (UnitCache.bring), and evicts none of those that the
   * running layer has needed last.
   */
  bring(layer: number, experts: ArrayLike<number>): readonly ReadUnit[];
  /** The number of an expert among those of all layers. */
  unitOf(layer: number, expert: number): number;
}

/** Experts of the layer that is running are no victims for each other while there are others. */
export function createExpertCaches({ policy, slots, layers, experts }: ExpertCachesCase): ExpertCaches {
  const eviction = evictionOf(policy, experts);
  const create = (seed: number): UnitCache => createUnitCache({ slots, eviction, sparesNeeded: true, seed });
  const caches = policy.pool === 'all' ? [create(0)] : Array.from({ length: layers }, (_, layer) => create(layer));
  const cacheOf = (layer: number): UnitCache => (caches[layer] ?? caches[0]) as UnitCache;
  const unitOf = (layer: number, expert: number): number => layer * experts + expert;
  const unitsOf = (layer: number, chosen: ArrayLike<number>): number[] => {
    const units: number[] = [];
    for (let index = 0; index < chosen.length; index++) units.push(unitOf(layer, chosen[index] as number));
    return units;
  };
  let running: readonly number[] = [];
  const isRunning = (unit: number): boolean => running.includes(unit);
  return {
    slots,
    unitOf,
    holds: (layer, expert) => cacheOf(layer).holds(unitOf(layer, expert)),
    need(layer, chosen) {
      running = unitsOf(layer, chosen);
      return cacheOf(layer).need(running);
    },
    bring: (layer, chosen) => cacheOf(layer).bring(unitsOf(layer, chosen), isRunning),
  };
}
