import type { Point } from './points-file.ts';

/** All points of a sweep, 24 bytes each. */
export interface Landscape {
  /** By position: the plan's number, its simulated and its predicted TPOT, seconds; NaN where it can't be run. */
  readonly plans: Float64Array;
  readonly seconds: Float64Array;
  readonly predicted: Float64Array;
  /** Plans that can't be run, by kind of reason. */
  readonly failures: ReadonlyMap<string, Failures>;
  /** Positions of those that can, the fastest first. */
  readonly ranking: Uint32Array;
}

export interface Failures {
  readonly count: number;
  /** The first of them, and its reason in full. */
  readonly plan: number;
  readonly reason: string;
}

/** Gathers `count` points. */
export function gatherLandscape(points: Iterable<Point>, count: number): Landscape {
  const plans = new Float64Array(count);
  const seconds = new Float64Array(count).fill(Number.NaN);
  const predicted = new Float64Array(count).fill(Number.NaN);
  const failures = new Map<string, Failures>();
  let at = 0;
  for (const point of points) {
    plans[at] = point.plan;
    if ('failed' in point) {
      const kind = point.failed.split(':')[0] as string;
      const before = failures.get(kind) ?? { count: 0, plan: point.plan, reason: point.failed };
      failures.set(kind, { ...before, count: before.count + 1 });
    } else {
      seconds[at] = point.seconds;
      predicted[at] = point.predicted;
    }
    at += 1;
  }
  const ranking = Uint32Array.from({ length: count }, (_, index) => index)
    .filter((index) => !Number.isNaN(seconds[index]))
    .sort((i, j) => (seconds[i] as number) - (seconds[j] as number));
  return { plans, seconds, predicted, failures, ranking };
}

/** Plans that are faster than so many seconds. */
export function fasterThan({ seconds, ranking }: Landscape, limit: number): number {
  let [low, high] = [0, ranking.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((seconds[ranking[middle] as number] as number) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}
