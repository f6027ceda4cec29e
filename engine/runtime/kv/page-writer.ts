import type { CacheFile, CacheJob, KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';

export interface PageWriterOptions {
  readonly file: CacheFile;
  /** Place of a slice in the file. */
  readonly placeOf: (layer: number, page: number) => number;
  readonly sliceBytes: number;
  readonly recorder?: RunRecorder | undefined;
}

/** Copies evicted pages to the file during computation, in the order of `start`. */
export interface PageWriter {
  /** Starts to write a page, given as its slices, one per layer. They must not change until the page is written. */
  start(page: number, slices: readonly KeyValueCache[]): void;
  /** Pages that are being written. */
  readonly pages: number;
  /** Whether the oldest of them is written, so that `finish` doesn't wait; `false` without one. */
  isDone(): boolean;
  /** Waits until the oldest of them is written. @returns its number. @throws InputError if the disk fails */
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
