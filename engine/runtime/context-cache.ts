import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Shape } from '../model/architecture.ts';
import type { LayerKind } from '../model/layer-kind.ts';
import { type AttentionInputs, attendPaged, attendWhole, type LayerBatches } from './attention.ts';
import type { PagedCache } from './kv/paged-cache.ts';

/** The attention of layers to a sequence's tokens. */
export interface LayersAttention {
  /** Stores keys and values of tokens in a layer, and attends to all up to them. */
  attend(layer: number, inputs: AttentionInputs): LayerBatches;
  /** Whether attention at another position is the same operations at that position. Default: false. */
  readonly isWhole?: boolean;
}

/** The keys and values of a sequence's past tokens. */
export interface ContextCache extends LayersAttention {
  /** Most tokens of the next pass. */
  readonly room: number;
  /** Pages that are not in memory. */
  readonly evicted: number;
  /** Whether attention at another position is the same operations at that position. */
  readonly isWhole: boolean;
  /** Called before tokens go through the layers. */
  begin(tokens: number): void;
  rewind(position: number): void;
}

/** @param caches keys and values by layer, each with the length of the context */
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

/** All layers of a model for one sequence. */
export function contextOf(
  kernels: Pick<Kernels, 'cache'>,
  { kinds }: Pick<Shape, 'kinds'>,
  size: Pick<KeyValueCacheShape, 'capacity' | 'type'>,
): ContextCache {
  const cacheOf = ({ attention: { kvHeads, headSize } }: LayerKind) => kernels.cache({ ...size, kvHeads, headSize });
  return wholeCache(new Map(kinds.map((kind, layer) => [layer, cacheOf(kind)])));
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
