import { expertsOf, type Routing } from './routing.ts';
import { createUnitCache, type Eviction } from './unit-cache.ts';

/** Whether each layer has a cache for its own experts, or one cache holds experts of all layers. */
export const POOLS = ['layer', 'all'] as const;
export type Pool = (typeof POOLS)[number];

export interface CacheReplay {
  readonly routing: Routing;
  readonly pool: Pool;
  /** Slots of each layer's cache, or of the one for all layers. */
  readonly slots: number;
  /** @param needs all units that a cache will need, in order; numbered layer · experts + expert */
  readonly eviction: (needs: readonly number[]) => Eviction;
  readonly sparesNeeded: boolean;
  readonly seed: number;
  /** Tokens at the beginning that fill the caches and aren't counted. */
  readonly warmUp: number;
}

export interface CacheHits {
  /** Experts that were needed, and those of them that were held. */
  readonly needs: number;
  readonly hits: number;
}

/** Runs a routing through a cache for each layer, or one for all. */
export function replayRouting(replay: CacheReplay): CacheHits {
  const { routing, pool, slots, eviction, sparesNeeded, seed, warmUp } = replay;
  const { tokens, layers, experts, used } = routing;
  const all = Array.from({ length: layers }, (_, layer) => layer);
  const groups = pool === 'all' ? [all] : all.map((layer) => [layer]);
  let read = 0;
  for (const group of groups) {
    const unitsOf = (token: number, layer: number): number[] =>
      Array.from(expertsOf(routing, token, layer), (expert) => layer * experts + expert);
    const needs: number[] = [];
    for (let token = 0; token < tokens; token++) for (const layer of group) needs.push(...unitsOf(token, layer));
    const cache = createUnitCache({ slots, eviction: eviction(needs), sparesNeeded, seed });
    for (let token = 0; token < tokens; token++)
      for (const layer of group) {
        const missing = cache.need(unitsOf(token, layer)).length;
        if (token >= warmUp) read += missing;
      }
  }
  const needs = (tokens - warmUp) * layers * used;
  return { needs, hits: needs - read };
}
