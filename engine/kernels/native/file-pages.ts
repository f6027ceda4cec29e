import type { FilePages, PageBuffer, PageJob, PageJobKind } from '../file-pages.ts';
import { WeightsLostError } from '../weights-lost-error.ts';
import { type NativePages, reserved } from './addon.ts';
import { jobsOf } from './jobs.ts';

/** The jobs' codes. The addon has the same list (native/memory/page_worker.hpp), and a test compares the two. */
export const PAGE_JOB_CODES: Readonly<Record<PageJobKind, number>> = {
  willneed: 0,
  populate: 1,
  drop: 2,
  lock: 3,
  unlock: 4,
  'willneed-whole': 5,
};

/** @param path the file's path, for messages */
export function filePages(native: NativePages, path: string): FilePages {
  const jobOf = jobsOf(native, (error) => new WeightsLostError(path, error));
  const pageJob = (number: number): PageJob => {
    const job = jobOf(number);
    return {
      wait: job.wait,
      poll: job.poll,
      async settled() {
        if (!job.isKnown) await new Promise<void>((resolve) => native.whenDone(number, resolve));
      },
      cancel: () => native.cancel(number),
    };
  };
  return {
    resident: ({ from, to }) => native.resident(from, to),
    readAhead: (on) => native.random(!on),
    start: (kind, { from, to }, lookBack = 0) => pageJob(native.submit(PAGE_JOB_CODES[kind], from, to, lookBack)),
    buffer(bytes): PageBuffer {
      const [id, buffer] = reserved('memory for weights', () => native.buffer(bytes));
      return { id, bytes: new Uint8Array(buffer) };
    },
    read: ({ from, to }, targets) =>
      pageJob(native.read(from, to, ...targets.flatMap(({ buffer, offset, bytes }) => [buffer.id, offset, bytes]))),
    readBytes: () => native.readBytes(),
    close: () => native.close(),
  };
}
