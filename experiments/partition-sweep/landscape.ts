import type { Point } from './points-file.ts';
import type { PolicyName } from './policies.ts';
import type { Space } from './space.ts';

/** All points of a sweep, 24 bytes each. */
export interface Landscape {
  /** By position: the plan's number, its simulated and its predicted TPOT, seconds; NaN where it can't be run. */
  readonly plans: Float64Array;
  readonly seconds: Float64Array;
  readonly predicted: Float64Array;
  /** Plans that can't be run, by kind of reason. */
  readonly failures: ReadonlyMap<string, Failures>;
  /** Positions of the plans that can be run, fastest first. */
  readonly ranking: Uint32Array;
}

export interface Failures {
  readonly count: number;
  /** Number of the first of these plans, and its full reason. */
  readonly plan: number;
  readonly reason: string;
}

/** Collects `count` points. */
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

/** Number of plans that are faster than `seconds`. */
export function fasterThan({ seconds, ranking }: Landscape, limit: number): number {
  let [low, high] = [0, ranking.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((seconds[ranking[middle] as number] as number) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The plans of one number of rounds and one policy. */
export interface Group {
  readonly rounds: number;
  readonly policy: PolicyName;
  readonly plans: number;
  /** Simulated seconds of the plans that can be run, ascending. */
  readonly seconds: readonly number[];
  /** Rank correlation of predicted and simulated seconds. */
  readonly agreement: number;
}

/** The landscape by rounds and policy, in the order of the space. */
export function groupLandscape({ plans, seconds, predicted }: Landscape, space: Space): Group[] {
  const groups = new Map<
    string,
    { rounds: number; policy: PolicyName; plans: number; seconds: number[]; predicted: number[] }
  >();
  plans.forEach((plan, index) => {
    const { rounds, policy } = space.at(plan);
    const key = `${rounds} ${policy}`;
    const group = groups.get(key) ?? { rounds, policy, plans: 0, seconds: [], predicted: [] };
    groups.set(key, group);
    group.plans += 1;
    if (Number.isNaN(seconds[index])) return;
    group.seconds.push(seconds[index] as number);
    group.predicted.push(predicted[index] as number);
  });
  return [...groups.values()].map(({ predicted, ...group }) => ({
    ...group,
    agreement: rankCorrelation(predicted, group.seconds),
    seconds: group.seconds.toSorted((a, b) => a - b),
  }));
}

/**
 * Spearman's rank correlation: 1 where two lists order things alike, −1 where one reverses the other; equal values
 * share the mean of their ranks. NaN for fewer than two values, or where one list is constant.
 */
export function rankCorrelation(one: ArrayLike<number>, other: ArrayLike<number>): number {
  const [a, b] = [ranks(one), ranks(other)];
  const mean = (a.length - 1) / 2;
  let [product, squaresA, squaresB] = [0, 0, 0];
  for (let index = 0; index < a.length; index++) {
    const [x, y] = [(a[index] as number) - mean, (b[index] as number) - mean];
    product += x * y;
    squaresA += x * x;
    squaresB += y * y;
  }
  return product / Math.sqrt(squaresA * squaresB);
}

/** From 0. */
function ranks(values: ArrayLike<number>): Float64Array {
  const order = Uint32Array.from({ length: values.length }, (_, index) => index);
  order.sort((i, j) => (values[i] as number) - (values[j] as number));
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && values[order[to] as number] === values[order[from] as number]) to++;
    for (let at = from; at < to; at++) ranks[order[at] as number] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}
