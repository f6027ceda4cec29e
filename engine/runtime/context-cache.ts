import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Shape } from '../model/architecture.ts';
import {
  type AttentionInputs,
  attendHeld,
  attendPaged,
  attendWhole,
  type LayerBatches,
  type TokenSlice,
} from './attention.ts';
import type { PagedCache } from './kv/paged-cache.ts';

/** The keys and values of a sequence's past tokens, and the attention of a layer to them. */
export interface ContextCache {
  /** Most tokens of the next pass. */
  readonly room: number;
  /** Pages that are not in memory. */
  readonly evicted: number;
  /** Whether attention at another position is the same operations at that position. */
  readonly isWhole: boolean;
  /** Called before tokens go through the layers. */
  begin(tokens: number): void;
  /** Stores keys and values of tokens in a layer, and attends to all up to them. */
  attend(layer: number, inputs: AttentionInputs): LayerBatches;
  rewind(position: number): void;
}

/** Keys and values by layer, each with the length of the context. */
export type LayerCaches = Map<number, KeyValueCache>;

export function wholeCache(caches: ReadonlyMap<number, KeyValueCache>): ContextCache {
  return {
    room: Number.POSITIVE_INFINITY,
    evicted: 0,
    isWhole: true,
    begin() {},
    attend: (layer, inputs) => ({ operations: attendWhole(caches.get(layer) as KeyValueCache, inputs) }),
    rewind() {},
  };
}

/**
 * So many tokens in pages that are all in memory.
 * @param pages the caches of each page, in the order of its tokens; all but the last are full
 */
export function pagesCache(pages: readonly LayerCaches[], tokens: number): ContextCache {
  const slices = (layer: number): TokenSlice[] => {
    let to = 0;
    return pages.map((caches) => {
      const cache = caches.get(layer) as KeyValueCache;
      const from = to;
      to = Math.min(tokens, from + cache.capacity);
      return { cache, from, to };
    });
  };
  return {
    room: Number.POSITIVE_INFINITY,
    evicted: 0,
    isWhole: false,
    begin() {},
    attend: (layer, inputs) => ({ operations: attendHeld(slices(layer), inputs) }),
    rewind() {},
  };
}

/** Caches of these layers in memory of their own. */
export function createCaches(
  kernels: Pick<Kernels, 'cache'>,
  { kvHeads, headSize }: Pick<Shape, 'kvHeads' | 'headSize'>,
  layers: readonly number[],
  { capacity, type }: Pick<KeyValueCacheShape, 'capacity' | 'type'>,
): LayerCaches {
  return new Map(layers.map((layer) => [layer, kernels.cache({ type, kvHeads, capacity, headSize })]));
}

/** All layers of a model for one sequence. */
export function contextOf(
  kernels: Pick<Kernels, 'cache'>,
  shape: Shape,
  size: Pick<KeyValueCacheShape, 'capacity' | 'type'>,
): ContextCache {
  const layers = Array.from({ length: shape.layers }, (_, layer) => layer);
  return wholeCache(createCaches(kernels, shape, layers, size));
}

/** Layers from `firstLayer` on in pages, the oldest of which are in a file, or in RAM beside a GPU. */
export function pagedCache(cache: PagedCache, firstLayer: number): ContextCache {
  return {
    get room() {
      return cache.room;
    },
    get evicted() {
      return cache.evicted;
    },
    isWhole: false,
    begin: (tokens) => cache.begin(tokens),
    attend: (layer, inputs) => attendPaged(cache, layer - firstLayer, inputs),
    rewind: (position) => cache.rewind(position),
  };
}
