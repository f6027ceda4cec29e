import type { CacheFile, CacheJob, KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';

export interface PageWriterOptions {
  readonly file: CacheFile;
  /** Where a slice lies in the file. */
  readonly placeOf: (layer: number, page: number) => number;
  readonly sliceBytes: number;
  readonly recorder?: RunRecorder | undefined;
}

/** Copies evicted pages to the file while the computation goes on, in the order in which they are handed over. */
export interface PageWriter {
  /** Begins to write a page, given as its slices, one per layer. They must not change until the page is written. */
  start(page: number, slices: readonly KeyValueCache[]): void;
  /** Pages that have been started and not finished. */
  readonly pages: number;
  /** Whether the oldest of them is written, so that `finish` doesn't wait. `false` where there is none. */
  isDone(): boolean;
  /** Waits until the oldest of them is written. @returns its number. @throws InputError where the disk fails */
  finish(): number;
}

export function createPageWriter({ file, placeOf, sliceBytes, recorder }: PageWriterOptions): PageWriter {
  const writing: { readonly page: number; readonly jobs: readonly CacheJob[] }[] = [];
  return {
    get pages() {
      return writing.length;
    },
    start(page, slices) {
      writing.push({ page, jobs: slices.map((cache, layer) => file.write(cache, placeOf(layer, page))) });
    },
    isDone: () => writing[0]?.jobs.every((job) => job.poll() !== undefined) === true,
    finish() {
      const oldest = writing.shift();
      if (oldest === undefined) throw new RangeError('no page is being written');
      const { page, jobs } = oldest;
      for (const [layer, job] of jobs.entries()) {
        const outcome = job.wait();
        const args = { bytes: sliceBytes, what: `KV page ${page} of layer ${layer}` };
        recorder?.span({ lane: 'disk', cause: 'deviceCopy', name: 'eviction', ...outcome, args });
      }
      return page;
    },
  };
}
