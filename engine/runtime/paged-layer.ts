import type { Operation } from '../kernels/operation.ts';
import type { Vector } from '../kernels/vector.ts';
import type { Activations } from './activations.ts';
import type { HeldSlice } from './kv/page-memory.ts';
import type { PagedCache } from './kv/paged-cache.ts';
import { afterAttention, beforeAttention, type LayerSettings } from './layer-operations.ts';
import type { LayerWeights } from './transformer-weights.ts';

/** The inputs of a paged layer. */
export interface PagedLayer {
  readonly settings: LayerSettings;
  readonly weights: LayerWeights;
  readonly layer: number;
  readonly cache: PagedCache;
  readonly activations: Activations;
  /** The largest score that each head has seen, and its sum of e^(score − largest). [tokens][heads] */
  readonly largest: Vector;
  readonly totals: Vector;
  /** Position of the first token. */
  readonly position: number;
}

/**
 * Operations on pages in memory, and the batches that follow. Taking the next batch waits for evicted pages and reuses
 * the memory of the previous ones, so each must be run first; the last one, which is the iterator's return value, may
 * be run together with later operations.
 */
export interface LayerBatches {
  readonly operations: readonly Operation[];
  readonly later?: Iterator<readonly Operation[], readonly Operation[]>;
}

/**
 * The counterpart of layerOperations for keys and values in pages: the tokens are stored in the newest page; attention
 * covers the pages in memory, then evicted ones as they arrive (HELM 4.2.3).
 */
export function pagedLayer(paged: PagedLayer): LayerBatches {
  const { settings, weights, layer, cache, activations, position } = paged;
  const held = cache.held(layer);
  const newest = held.at(-1) as HeldSlice;
  const before: Operation[] = [
    ...beforeAttention(settings, weights, activations),
    {
      kind: 'store',
      cache: newest.cache,
      keys: activations.k,
      values: activations.v,
      position: position - newest.from,
    },
    attendPages(paged, held, true),
  ];
  const after: Operation[] = [
    { kind: 'divide-rows', divisors: paged.totals, y: activations.attended },
    ...afterAttention(settings, weights, activations),
  ];
  if (cache.evicted === 0) return { operations: [...before, ...after] };
  return { operations: before, later: evictedBatches(paged, after) };
}

/** One batch per group of evicted pages, the last one with the rest of the layer. */
function* evictedBatches(
  paged: PagedLayer,
  after: readonly Operation[],
): Generator<readonly Operation[], readonly Operation[]> {
  const { cache, layer } = paged;
  for (const slices of cache.passing(layer)) {
    const attend = attendPages(paged, slices, false);
    if (slices.at(-1)?.page === cache.evicted - 1) return [attend, ...after];
    yield [attend];
  }
  return after;
}

function attendPages(
  { settings, activations, largest, totals, position }: PagedLayer,
  slices: readonly HeldSlice[],
  begins: boolean,
): Operation {
  const { heads, headSize } = settings.shape;
  const { q: queries, attended: y } = activations;
  const pages = slices.map(({ cache, from, to }) => ({ cache, first: from, count: to - from }));
  const state = { queries, y, largest, totals, heads, position, begins };
  return { kind: 'attend-pages', pages, ...state, scale: 1 / Math.sqrt(headSize) };
}
