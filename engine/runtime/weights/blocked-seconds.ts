import { readFileSync } from 'node:fs';

/**
 * Measures for how long the calling thread was neither computing nor waiting for a processor: while it multiplies, it
 * then waits for a page fault, its own or that of another thread that computes with it. Linux counts both in
 * /proc/thread-self/schedstat (nanoseconds on a processor, and runnable without one).
 * @returns seconds since the last call, or since the beginning; 0 on systems that don't count
 */
export function createBlockedMeter(): () => number {
  const read = (): { readonly now: number; readonly runnable: number } => {
    const runnable = runnableSeconds();
    return { now: performance.now() / 1000, runnable: runnable ?? Number.NaN };
  };
  let last = read();
  return () => {
    const current = read();
    const blocked = current.now - last.now - (current.runnable - last.runnable);
    last = current;
    return Number.isNaN(blocked) ? 0 : Math.max(0, blocked);
  };
}

function runnableSeconds(): number | undefined {
  try {
    const [running, waiting] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number);
    return running === undefined || waiting === undefined ? undefined : (running + waiting) / 1e9;
  } catch {
    return undefined;
  }
}
