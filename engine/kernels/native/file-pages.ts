import type { FilePages, PageBuffer, PageJob, PageJobKind, PageOutcome } from '../file-pages.ts';
import type { NativeOutcome, NativePages } from './addon.ts';
import { reserved } from './reserved.ts';

/** As native/memory/page_worker.hpp numbers them. */
const CODES: Readonly<Record<PageJobKind, number>> = {
  willneed: 0,
  populate: 1,
  drop: 2,
  lock: 3,
  unlock: 4,
  'willneed-whole': 5,
};

export function filePages(native: NativePages): FilePages {
  // Both clocks run alike, from different beginnings.
  const offset = performance.now() / 1000 - native.now();
  const outcomeOf = ({ start, end, error, ...outcome }: NativeOutcome): PageOutcome => {
    if (error !== '') throw new Error(`weights: ${error}`);
    return { ...outcome, start: start + offset, end: end + offset };
  };
  const jobOf = (number: number): PageJob => {
    let found: NativeOutcome | undefined;
    return {
      wait() {
        found ??= native.wait(number);
        return outcomeOf(found);
      },
      poll() {
        found ??= native.poll(number);
        return found && outcomeOf(found);
      },
      async settled() {
        if (found === undefined) await new Promise<void>((resolve) => native.whenDone(number, resolve));
      },
      cancel: () => native.cancel(number),
    };
  };
  return {
    resident: ({ from, to }) => native.resident(from, to),
    readAhead: (on) => native.random(!on),
    start: (kind, { from, to }, lookBack = 0) => jobOf(native.submit(CODES[kind], from, to, lookBack)),
    buffer(bytes): PageBuffer {
      const [id, buffer] = reserved('memory for weights', () => native.buffer(bytes));
      return { id, bytes: new Uint8Array(buffer) };
    },
    read: ({ from, to }, buffer, at) => jobOf(native.read(from, to, buffer.id, at)),
    readBytes: () => native.readBytes(),
    close: () => native.close(),
  };
}
