/** Summary of the seconds of repeated runs. */
export interface Timing {
  readonly median: number;
  readonly p95: number;
  readonly runs: number;
}

/**
 * Times `run(i)` for i = 0, 1, … after `warmUp` untimed runs that let the compiler settle.
 * @returns seconds per call
 */
export function measure(run: (index: number) => void, runs: number, warmUp: number): Timing {
  for (let index = 0; index < warmUp; index++) run(index);
  const seconds = Array.from({ length: runs }, (_, index) => {
    const start = performance.now();
    run(index);
    return (performance.now() - start) / 1e3;
  });
  return summarise(seconds);
}

/** Median and 95th percentile (nearest rank). */
export function summarise(seconds: readonly number[]): Timing {
  const sorted = [...seconds].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number;
  return { median: at(0.5), p95: at(0.95), runs: sorted.length };
}
