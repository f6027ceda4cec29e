import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Shape } from '../model/architecture.ts';
import { keptHeads, storesKeys } from '../model/layer-kind.ts';
import { attendPaged, attendWhole, type LayerBatches, type MixerInputs, withSinks } from './attention.ts';
import type { PagedCache } from './kv/paged-cache.ts';
import { createLayerStates, type LayerStates, type StateKernels } from './layer-states.ts';
import { type LayerVectors, recur } from './recurrence.ts';

/** How layers mix a sequence's tokens. */
export interface LayersAttention {
  /**
   * Stores keys and values of tokens in a layer, and attends to all up to them; or convolves them, and changes the layer's
   * state.
   */
  mix(layer: number, inputs: MixerInputs, vectors: LayerVectors): LayerBatches;
  /** Whether attention at another position is the same operations at that position. Default: false. */
  readonly isWhole?: boolean;
}

/** What layers keep of a sequence's past tokens: keys and values, or states. */
export interface ContextCache extends LayersAttention {
  /** Most tokens of the next pass. */
  readonly room: number;
  /** Pages that are not in memory. */
  readonly evicted: number;
  /** Whether attention at another position is the same operations at that position. */
  readonly isWhole: boolean;
  /** Called before tokens go through the layers, the first at `position`. */
  begin(tokens: number, position: number): void;
  /**
   * Forgets the tokens from `position` on. @returns up to where those before it are still known: recurrent layers need the
   * others again
   */
  rewind(position: number): number;
}

/** @param caches keys and values by layer, each with the length of the context */
export function wholeCache(
  caches: ReadonlyMap<number, KeyValueCache>,
  states: LayerStates | undefined = undefined,
): ContextCache {
  return {
    room: Number.POSITIVE_INFINITY,
    evicted: 0,
    isWhole: true,
    begin: (tokens, position) => states?.begin(tokens, position),
    mix(layer, inputs, vectors) {
      if (inputs.kind === 'recurrence')
        return { operations: recur(inputs, vectors, (states as LayerStates).of(layer)) };
      const cache = caches.get(inputs.keysOf ?? layer) as KeyValueCache;
      return { operations: attendWhole(cache, withSinks(inputs, vectors)) };
    },
    rewind: (position) => states?.rewind(position) ?? position,
  };
}

/** All layers of a model for one sequence, or those of its numbers in `layers`. */
export function contextOf(
  kernels: Pick<Kernels, 'cache'> & StateKernels,
  shape: Pick<Shape, 'kinds' | 'hiddenSize'>,
  size: Pick<KeyValueCacheShape, 'capacity' | 'type'>,
  layers: readonly number[] = [...shape.kinds.keys()],
): ContextCache {
  const caches = new Map(
    layers.flatMap((layer): [number, KeyValueCache][] => {
      const cache = cacheOf(kernels, shape, size, layer);
      return cache === undefined ? [] : [[layer, cache]];
    }),
  );
  return wholeCache(caches, createLayerStates(kernels, shape, layers));
}

/** The keys and values of a layer that stores any. */
export function cacheOf(
  kernels: Pick<Kernels, 'cache'>,
  { kinds }: Pick<Shape, 'kinds'>,
  size: Pick<KeyValueCacheShape, 'capacity' | 'type'>,
  layer: number,
): KeyValueCache | undefined {
  const kind = kinds[layer];
  const heads = kind && storesKeys(kind) ? keptHeads(kind) : undefined;
  return heads && kernels.cache({ ...size, kvHeads: heads.kvHeads, headSize: heads.headSize });
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
    mix: (layer, inputs, vectors) => attendPaged(cache, layer - firstLayer, withSinks(inputs, vectors)),
    rewind(position) {
      cache.rewind(position);
      return position;
    },
  };
}
