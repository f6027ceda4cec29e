import { openSync, readSync } from 'node:fs';

/**
 * The calling thread's nanoseconds on a processor, nanoseconds ready to run without one, and turns. Linux alone has it.
 */
const STATISTICS = '/proc/thread-self/schedstat';
/** `none`: it can't be read; `undefined`: it isn't open yet. */
let file: number | 'none' | undefined;
const bytes = Buffer.alloc(64);

/**
 * Other programs keep a processor for more than a millisecond once they have it. To read the statistics takes 3 to 5
 * µs, a pass of a small model 100: after a shorter time there is nothing to read.
 */
const LEAST_WAIT = 1e-3;

/** Seconds of the process's clock at the last call, and those by which this one is behind. */
let [last, behind] = [0, 0];
/** Seconds without a processor when they were read last. */
let waited = 0;

/**
 * Seconds on a clock that stands still while the calling thread is ready to run and other programs have the processor:
 * on a busy machine one pass in ten takes ten times as long, which says nothing of what it costs. Waits for disks
 * count. Where the system doesn't tell, it is the process's clock.
 */
export function undelayedSeconds(): number {
  const now = performance.now() / 1000;
  const passed = now - last;
  last = now;
  if (passed < LEAST_WAIT) return now - behind;
  const before = waited;
  waited = readWaited();
  behind += Math.min(passed, waited - before);
  return now - behind;
}

function readWaited(): number {
  file ??= openStatistics();
  if (file === 'none') return 0;
  const length = readSync(file, bytes, 0, bytes.length, 0);
  return Number(bytes.toString('latin1', 0, length).split(' ')[1]) / 1e9;
}

function openStatistics(): number | 'none' {
  try {
    return openSync(STATISTICS, 'r');
  } catch {
    return 'none';
  }
}
