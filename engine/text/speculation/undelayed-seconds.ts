import { openSync, readSync } from 'node:fs';

/** Of the calling thread: nanoseconds on a processor, nanoseconds ready to run without one, turns. Linux alone has it. */
const STATISTICS = '/proc/thread-self/schedstat';
/** It stays open, as a pass of a small model takes 200 µs. `none`: it can't be read; `undefined`: it isn't open yet. */
let file: number | 'none' | undefined;
const bytes = Buffer.alloc(64);

/**
 * Seconds on a clock that stands still while the calling thread is ready to run and other programs have the processor:
 * on a busy machine one pass in ten takes ten times as long, which says nothing of what it costs. Waits for disks
 * count. Where the system doesn't tell, it is the process's clock.
 */
export function undelayedSeconds(): number {
  file ??= openStatistics();
  const now = performance.now() / 1000;
  if (file === 'none') return now;
  const length = readSync(file, bytes, 0, bytes.length, 0);
  const [, waited] = bytes.toString('latin1', 0, length).split(' ');
  return now - Number(waited) / 1e9;
}

function openStatistics(): number | 'none' {
  try {
    return openSync(STATISTICS, 'r');
  } catch {
    return 'none';
  }
}
