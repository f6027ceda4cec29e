import { type BatchGain, convexFloor } from './convex-floor.ts';
import type { HelmComparison } from './rules.ts';
import { SCALING_TARGET } from './targets.ts';
import { type Verdict, verdictOf } from './verdict.ts';

/** Throughput of a batch over that of one request in the same row of Table 6.2. */
export interface Scaling {
  readonly comparison: HelmComparison;
  readonly published: number;
  readonly predicted: number;
  readonly simulated: number;
  /** Ends of what the thesis prints: it prints one request's throughput in other tables too. */
  readonly range: readonly [number, number];
  readonly verdict: Verdict;
  /** The cell, or the single request that it is held against, was fitted to. */
  readonly isFitted: boolean;
}

/** Every batch of Table 6.2 that ran, and runs here. */
export function scalings(comparisons: readonly HelmComparison[]): Scaling[] {
  const own = comparisons.filter(({ cell }) => cell.table === 'Table 6.2');
  return own.flatMap((comparison): Scaling[] => {
    const single = own.find(({ cell, quantity }) => cell.row === comparison.cell.row && quantity.batch === 1);
    const ratio = (answer: 'published' | 'predicted' | 'simulated'): number => {
      const [many, one] = [comparison[answer], single?.[answer]];
      return typeof many === 'number' && typeof one === 'number' ? many / one : Number.NaN;
    };
    const [published, predicted, simulated] = [ratio('published'), ratio('predicted'), ratio('simulated')];
    if (comparison.quantity.batch === 1 || Number.isNaN(published) || Number.isNaN(predicted)) return [];
    const [[least, most], [slowest, fastest]] = [comparison.range ?? [0, 0], single?.range ?? [1, 1]];
    const range = [least / fastest, most / slowest] as const;
    const verdict = verdictOf({ predicted, published, range, target: SCALING_TARGET, prints: [published] }) as Verdict;
    return [{ comparison, published, predicted, simulated, range, verdict, isFitted: comparison.basis === 'fit' }];
  });
}

/** A row of Table 6.2, and the least worst error that a law can have on it by which each request costs what the one before does, or more. */
export interface RowFloor {
  readonly row: string;
  readonly floor: number;
}

/** The floor of every row that has batches. */
export function rowFloors(all: readonly Scaling[]): RowFloor[] {
  const rows = new Map<string, BatchGain[]>();
  for (const { comparison, published } of all) {
    const { row } = comparison.cell;
    rows.set(row, [...(rows.get(row) ?? []), { batch: comparison.quantity.batch, gain: published }]);
  }
  return [...rows].map(([row, gains]) => ({ row, floor: convexFloor(gains) }));
}
