import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Activations } from './activations.ts';
import type { PagedCache } from './kv/paged-cache.ts';
import { type LayerSettings, layerOperations } from './layer-operations.ts';
import { type LayerBatches, pagedLayer } from './paged-layer.ts';
import type { LayerWeights } from './transformer-weights.ts';

/** The keys and values of past tokens, and the attention of a layer to them. */
export interface ContextCache {
  /** Most tokens of the next pass. */
  readonly room: number;
  /** Pages that are not in memory. */
  readonly evicted: number;
  /** Called before tokens go through the layers. */
  begin(tokens: number): void;
  batches(layer: LayerWeights, index: number, activations: Activations, position: number): LayerBatches;
  rewind(position: number): void;
}

/** One cache per layer with the length of the context. */
export function wholeCache(
  kernels: Kernels,
  settings: LayerSettings,
  layers: number,
  shape: KeyValueCacheShape,
): ContextCache {
  const caches = Array.from({ length: layers }, () => kernels.cache(shape));
  return {
    room: Number.POSITIVE_INFINITY,
    evicted: 0,
    begin() {},
    batches: (layer, index, activations, position) => ({
      operations: layerOperations(settings, layer, caches[index] as KeyValueCache, activations, position),
    }),
    rewind() {},
  };
}

/** A paged cache, whose oldest pages are in a file. @param most most tokens of a pass */
export function pagedCache(kernels: Kernels, settings: LayerSettings, cache: PagedCache, most: number): ContextCache {
  const { heads } = settings.shape;
  const [largest, totals] = [kernels.vector(most * heads), kernels.vector(most * heads)];
  return {
    get room() {
      return cache.room;
    },
    get evicted() {
      return cache.evicted;
    },
    begin: (tokens) => cache.begin(tokens),
    batches(weights, layer, activations, position) {
      const values = activations.tokens * heads;
      const seen = { largest: largest.slice(0, values), totals: totals.slice(0, values) };
      return pagedLayer({ settings, weights, layer, cache, activations, position, ...seen });
    },
    rewind: (position) => cache.rewind(position),
  };
}
