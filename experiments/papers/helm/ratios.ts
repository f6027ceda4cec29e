import { type Comparison, compare } from '../comparison.ts';
import type { HelmComparison } from './rules.ts';
import { SCALING_TARGET, type Verdict, verdictOf } from './targets.ts';

/** Throughput of a batch over that of one request in the same row of Table 6.2. */
export interface ScalingDetail {
  readonly batch: number;
  /** Ends of the ratio by all prints: one request's throughput stands in other tables too. */
  readonly range: readonly [number, number];
  readonly verdict: Verdict;
}

export type Scaling = Comparison<ScalingDetail>;

/** Every batch of Table 6.2 that ran in the thesis and runs here, over the single request of its row. */
export function scalings(comparisons: readonly HelmComparison[]): Scaling[] {
  const own = comparisons.filter(({ cell }) => cell.table === 'Table 6.2');
  return own.flatMap((comparison): Scaling[] => {
    const { cell, detail, use } = comparison;
    const single = own.find((one) => one.cell.row === cell.row && one.detail.quantity.batch === 1);
    const ratio = (answer: 'published' | 'predicted' | 'simulated'): number => {
      const [many, one] = [comparison[answer], single?.[answer]];
      return typeof many === 'number' && typeof one === 'number' ? many / one : Number.NaN;
    };
    const [published, predicted, simulated] = [ratio('published'), ratio('predicted'), ratio('simulated')];
    const { batch } = detail.quantity;
    if (batch === 1 || Number.isNaN(published) || Number.isNaN(predicted)) return [];
    const [[least, most], [slowest, fastest]] = [detail.range ?? [0, 0], single?.detail.range ?? [1, 1]];
    const range = [least / fastest, most / slowest] as const;
    const target = SCALING_TARGET.limit;
    const verdict = verdictOf({ predicted, published, range, target, prints: [published] }) as Verdict;
    const answer = () => ({ predicted, simulated, target, detail: { batch, range, verdict } });
    const rule = {
      paper: 'helm',
      cell,
      policy: 'over B=1',
      unit: 'x',
      published,
      noise: undefined,
      use,
      answer,
    } as const;
    return compare([rule], () => {});
  });
}

/** A row of Table 6.2 with its floor: the least worst error of any law by which no request costs less than the one before. */
export interface RowFloor {
  readonly row: string;
  readonly floor: number;
}

/** The floor of every row that has batches. */
export function rowFloors(all: readonly Scaling[]): RowFloor[] {
  const rows = new Map<string, BatchGain[]>();
  for (const { cell, published, detail } of all) {
    rows.set(cell.row, [...(rows.get(cell.row) ?? []), { batch: detail.batch, gain: Number(published) }]);
  }
  return [...rows].map(([row, gains]) => ({ row, floor: convexFloor(gains) }));
}

/** Throughput of a batch over that of one request. */
export interface BatchGain {
  readonly batch: number;
  readonly gain: number;
}

/** Steps of the bisection: they halve a share to below a part in 1e12. */
const STEPS = 40;

/**
 * The least worst error, over a row of gains, of any convex law: one by which no further request costs less than the one
 * before. Sums and maxima of work done once and work repeated for every request are such laws. A gain of g for b requests
 * means a step of b / g times the step of a single request.
 */
export function convexFloor(gains: readonly BatchGain[]): number {
  let [from, to] = [0, 1];
  for (let step = 0; step < STEPS; step++) {
    const middle = (from + to) / 2;
    if (isConvexWithin(gains, middle)) to = middle;
    else from = middle;
  }
  return to;
}

/** Whether a convex law stays within `error`: the convex hull of the upper bounds lies above the lower bounds. */
function isConvexWithin(gains: readonly BatchGain[], error: number): boolean {
  const upper = [
    { batch: 1, step: 1 },
    ...gains.map(({ batch, gain }) => ({ batch, step: batch / (gain * (1 - error)) })),
  ];
  const hull = (at: number): number =>
    Math.min(
      ...upper.flatMap((left) =>
        upper.flatMap((right) => {
          if (left.batch === right.batch) return left.batch === at ? [left.step] : [];
          if (left.batch > at || right.batch < at) return [];
          const share = (at - left.batch) / (right.batch - left.batch);
          return [left.step + share * (right.step - left.step)];
        }),
      ),
    );
  return gains.every(({ batch, gain }) => hull(batch) >= batch / (gain * (1 + error)));
}
