import type { Kernels } from '../../kernels/kernels.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { Shape } from '../../model/architecture.ts';
import { keptHeads, storesKeys } from '../../model/layer-kind.ts';
import { createLayerStates, type LayerStates, type StateKernels } from '../kv/layer-states.ts';
import type { PagedCache } from '../kv/paged-cache.ts';
import { attendPaged, attendWhole, type LayerBatches, type MixerInputs, withSinks } from './attention.ts';
import { type LayerVectors, type RecurrenceInputs, recur } from './recurrence.ts';

/** How layers mix a sequence's tokens. */
export interface LayersMixing {
  /**
   * Stores keys and values of tokens in a layer, and attends to all up to them; or convolves them, and changes the layer's
   * state.
   */
  mix(layer: number, inputs: MixerInputs, vectors: LayerVectors): LayerBatches;
  /** Whether attention at another position is the same operations at that position. Default: false. */
  readonly isWhole?: boolean;
}

/** A sequence's past tokens, as layers keep them: keys and values, or states. */
export interface ContextCache extends LayersMixing {
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
      if (inputs.kind === 'recurrence') return changeState(inputs, vectors, states, layer);
      const cache = caches.get(inputs.keysOf ?? layer) as KeyValueCache;
      return { operations: attendWhole(cache, withSinks(inputs, vectors)) };
    },
    rewind: (position) => states?.rewind(position) ?? position,
  };
}

function changeState(
  inputs: RecurrenceInputs,
  vectors: LayerVectors,
  states: LayerStates | undefined,
  layer: number,
): LayerBatches {
  return { operations: recur(inputs, vectors, (states as LayerStates).of(layer)) };
}

/** All layers of a model for one sequence. */
export function contextOf(
  kernels: Pick<Kernels, 'cache'> & StateKernels,
  shape: Pick<Shape, 'kinds' | 'hiddenSize'>,
  size: Pick<KeyValueCacheShape, 'capacity' | 'type'>,
): ContextCache {
  const caches = new Map(
    shape.kinds.flatMap((_, layer): [number, KeyValueCache][] => {
      const cache = cacheOf(kernels, shape, size, layer);
      return cache === undefined ? [] : [[layer, cache]];
    }),
  );
  return wholeCache(caches, createLayerStates(kernels, shape, { from: 0, to: shape.kinds.length }));
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

/**
 * Forgets the tokens from `position` on in all parts of a model's layers. @returns up to where all of them know those before
 */
export function rewindTogether(caches: readonly ContextCache[], position: number): number {
  const reached = Math.min(...caches.map((cache) => cache.rewind(position)));
  // If one went back further, the others follow, and may go further still.
  return reached === position ? reached : rewindTogether(caches, reached);
}

/** Layers from `firstLayer` on in pages, the oldest of which are in a file, or in RAM next to a GPU. */
export function pagedCache(cache: PagedCache, firstLayer: number, states?: LayerStates): ContextCache {
  return {
    get room() {
      return cache.room;
    },
    get evicted() {
      return cache.evicted;
    },
    isWhole: false,
    begin(tokens, position) {
      cache.begin(tokens);
      states?.begin(tokens, position);
    },
    mix(layer, inputs, vectors) {
      if (inputs.kind === 'recurrence') return changeState(inputs, vectors, states, layer);
      return attendPaged(cache, (inputs.keysOf ?? layer) - firstLayer, withSinks(inputs, vectors));
    },
    rewind(position) {
      const reached = states?.rewind(position) ?? position;
      cache.rewind(reached);
      return reached;
    },
  };
}
