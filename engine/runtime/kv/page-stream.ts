import type { CacheFile, CacheJob, KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import type { HeldSlice } from './page-pool.ts';
import type { PageState } from './page-table.ts';

export interface PageStreamOptions {
  readonly file: CacheFile;
  readonly layers: number;
  /** Memory that slices are read into, at least one. */
  readonly caches: readonly KeyValueCache[];
  /** Place of a slice in the file. */
  readonly placeOf: (layer: number, page: number) => number;
  readonly sliceBytes: number;
  readonly recorder?: RunRecorder | undefined;
}

/**
 * Streams slices of evicted pages from the file in the order in which layers need them: all evicted pages of a layer,
 * then those of the next, and after the last layer those of the first. It reads ahead as far as there is memory, so
 * that the disk works while layers compute (HELM Algorithm 3, AsyncPrefetch).
 */
export interface PageStream {
  /**
   * A layer's slices of the evicted pages, oldest first: the next slice, for which it waits, together with later ones
   * that have arrived, in at most half of the memory. They become invalid at the next call, for this layer or another,
   * or at `giveBack`.
   */
  pass(layer: number, evicted: readonly PageState[]): Iterable<readonly HeldSlice[]>;
  /** Frees the memory of the returned slices, for slices further ahead. */
  giveBack(): void;
  /** Discards slices that were read ahead; called when pages have changed. */
  reset(): void;
}

interface Reading {
  readonly layer: number;
  readonly page: number;
  readonly cache: KeyValueCache;
  readonly job: CacheJob;
}

export function createPageStream(options: PageStreamOptions): PageStream {
  const { file, layers, caches, placeOf, sliceBytes, recorder } = options;
  const mostTogether = Math.max(1, Math.floor(caches.length / 2));
  const free = [...caches];
  const ahead: Reading[] = [];
  /** Slices that the caller may still use. */
  const lent: KeyValueCache[] = [];
  let next = { layer: 0, page: 0 };
  /** Pages that each layer needs in this pass. */
  let pages = 0;

  const readAhead = (): void => {
    while (pages > 0 && free.length > 0) {
      const cache = free.pop() as KeyValueCache;
      ahead.push({ ...next, cache, job: file.read(cache, placeOf(next.layer, next.page)) });
      const { layer, page } = next;
      next = page + 1 < pages ? { layer, page: page + 1 } : { layer: (layer + 1) % layers, page: 0 };
    }
  };
  const reset = (): void => {
    for (const { job, cache } of ahead.splice(0)) {
      job.wait();
      free.push(cache);
    }
  };
  const giveBack = (): void => {
    if (lent.length === 0) return;
    free.push(...lent.splice(0));
    readAhead();
  };
  const take = (layer: number, page: number): KeyValueCache => {
    const first = ahead[0] ?? next;
    // Another page was evicted meanwhile, so the slices read ahead are in the wrong order.
    if (first.layer !== layer || first.page !== page) {
      reset();
      next = { layer, page };
    }
    readAhead();
    const { job, cache } = ahead.shift() as Reading;
    const what = `KV page ${page} of layer ${layer}`;
    const asked = performance.now() / 1000;
    const ready = job.poll() !== undefined;
    const { start, end } = job.wait();
    recorder?.span({ lane: 'disk', cause: 'disk', name: 'prefetch', start, end, args: { bytes: sliceBytes, what } });
    if (!ready) {
      const span = { lane: 'cpu', cause: 'disk', name: `waits for ${what}`, args: {} } as const;
      recorder?.span({ ...span, start: asked, end: performance.now() / 1000 });
    }
    return cache;
  };
  return {
    *pass(layer, evicted) {
      for (let first = 0; first < evicted.length; ) {
        giveBack();
        pages = evicted.length;
        const slices: HeldSlice[] = [];
        for (const state of evicted.slice(first, first + mostTogether)) {
          if (slices.length > 0 && ahead[0]?.job.poll() === undefined) break;
          const cache = take(layer, state.page);
          lent.push(cache);
          slices.push({ ...state, cache });
        }
        first += slices.length;
        yield slices;
      }
    },
    giveBack,
    reset,
  };
}
