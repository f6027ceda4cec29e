import { HELM_PAGING } from '../../cost/kv-pages.ts';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import { meanSliceBytes, type SliceShape } from './slice-shapes.ts';

export interface PagesCase {
  /** Memory for keys and values, bytes. */
  readonly budget: number;
  readonly pageTokens: number;
  readonly contextLength: number;
  readonly layers: number;
  /** Bytes of a slice: one layer's part of a page, or the mean of unlike ones. */
  readonly sliceBytes: number;
}

/** The division of memory between pages that stay and slices through which evicted pages are streamed. */
export interface PagesPlan {
  readonly pageTokens: number;
  readonly layers: number;
  /** Pages that fit into memory. */
  readonly pages: number;
  /** Above this number of pages the oldest is evicted during computation. */
  readonly keptPages: number;
  /** Slices that evicted pages are read into; 0 if all pages stay. */
  readonly passingSlices: number;
  readonly sliceBytes: number;
  /** Bytes of pages and slices together. */
  readonly bytes: number;
}

export interface PoolCase {
  readonly shapes: readonly SliceShape[];
  readonly pages: number;
  readonly pageTokens: number;
}

/** A pool of pages for several sequences: none is evicted before another has no memory. */
export function poolPlan({ shapes, pages, pageTokens }: PoolCase): PagesPlan {
  const layers = shapes.length;
  const sliceBytes = meanSliceBytes(shapes, pageTokens);
  const bytes = pages * layers * sliceBytes;
  return { pageTokens, layers, pages, keptPages: pages, passingSlices: FEWEST_PASSING, sliceBytes, bytes };
}

const FEWEST_PASSING = HELM_PAGING.passingSlices;

/** Assumed: more slices would be read further ahead than a layer takes to compute. */
const MOST_PASSING = 8;

/**
 * Divides memory for a paged KV cache (HELM 4.2.2) into whole pages, of all layers, and slices through which evicted
 * pages are streamed. A context that fits is kept as a whole.
 * @throws InputError if there is no room for one page and two slices, with the bytes needed
 */
export function planPages({ budget, pageTokens, contextLength, layers, sliceBytes }: PagesCase): PagesPlan {
  const all = Math.ceil(contextLength / pageTokens);
  const slices = Math.floor(budget / sliceBytes);
  if (slices >= all * layers) return { ...sizes(all, 0), keptPages: all };
  if (slices < layers + FEWEST_PASSING) {
    const least = Math.ceil(((layers + FEWEST_PASSING) * sliceBytes) / 2 ** 20);
    const parts = `one page of ${pageTokens} tokens in ${layers} layers, and ${FEWEST_PASSING} slices to stream through`;
    const found = formatBytes(budget);
    throw new InputError('KV memory', `${found} is too little; at least ${least} MiB are needed (${parts})`);
  }
  const pages = Math.floor((slices - FEWEST_PASSING) / layers);
  const passing = Math.min(MOST_PASSING, slices - pages * layers);
  return { ...sizes(pages, passing), keptPages: Math.max(1, Math.floor(pages * HELM_PAGING.watermark)) };

  function sizes(pages: number, passingSlices: number): Omit<PagesPlan, 'keptPages'> {
    const bytes = (pages * layers + passingSlices) * sliceBytes;
    return { pageTokens, layers, pages, passingSlices, sliceBytes, bytes };
  }
}
