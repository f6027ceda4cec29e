import type { CacheFile, CacheJob, KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';

export interface PageStreamOptions {
  readonly file: CacheFile;
  readonly layers: number;
  /** Memory that slices pass through, at least one. */
  readonly caches: readonly KeyValueCache[];
  /** Where a slice lies in the file. */
  readonly placeOf: (layer: number, page: number) => number;
  readonly sliceBytes: number;
  readonly recorder?: RunRecorder | undefined;
}

/**
 * Slices of evicted pages on their way back, in the order in which layers need them: all evicted pages of a layer, then
 * those of the next, after the last layer those of the first. As many are read ahead as there is memory for, so that the
 * disk works while layers compute (HELM Algorithm 3, AsyncPrefetch).
 */
export interface PageStream {
  /** Waits for a slice. It stays until it is given back. @param evicted pages that the layers of this pass need */
  take(layer: number, page: number, evicted: number): KeyValueCache;
  /** Whether the next slice has arrived, so that taking it doesn't wait. */
  isReady(): boolean;
  /** Gives a slice's memory to the next one. */
  giveBack(cache: KeyValueCache): void;
  /** Forgets what was read ahead: pages have changed. */
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
  const free = [...caches];
  const ahead: Reading[] = [];
  let next = { layer: 0, page: 0 };
  let evicted = 0;

  const readAhead = (): void => {
    while (evicted > 0 && free.length > 0) {
      const cache = free.pop() as KeyValueCache;
      ahead.push({ ...next, cache, job: file.read(cache, placeOf(next.layer, next.page)) });
      const { layer, page } = next;
      next = page + 1 < evicted ? { layer, page: page + 1 } : { layer: (layer + 1) % layers, page: 0 };
    }
  };
  const reset = (): void => {
    for (const { job, cache } of ahead.splice(0)) {
      job.wait();
      free.push(cache);
    }
  };
  return {
    take(layer, page, pages) {
      evicted = pages;
      const first = ahead[0] ?? next;
      // Another page was evicted since, so what was read ahead is in the wrong order.
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
    },
    isReady: () => ahead[0]?.job.poll() !== undefined,
    giveBack(cache) {
      free.push(cache);
      readAhead();
    },
    reset,
  };
}
