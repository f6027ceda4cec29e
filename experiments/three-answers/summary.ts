import { formatPercent } from '../../engine/input/format.ts';
import { cellName } from '../lab/cell.ts';
import type { CellResult } from '../lab/run-cells.ts';
import { median } from '../report/median.ts';

export const QUANTITIES = ['seconds', 'bytes'] as const;
export type Quantity = (typeof QUANTITIES)[number];
export const FOUND = ['simulated', 'predicted'] as const;
export type Found = (typeof FOUND)[number];

/** Aim for the error of simulated figures, of time and bytes alike. */
export const AIM = { median: 0.05, worst: 0.15 };

/** Where a token reads less than this share of the model, an error of its bytes means nothing. */
const LEAST_SHARE = 0.01;

/** The results on which a quantity is judged: bytes only where a token reads a share of the model worth counting. */
export function judged(results: readonly CellResult[], quantity: Quantity, modelBytes: number): CellResult[] {
  return quantity === 'seconds'
    ? [...results]
    : results.filter(({ measured }) => measured.bytes >= LEAST_SHARE * modelBytes);
}

export interface Errors {
  readonly median: number;
  readonly worst: number;
  readonly worstCell: CellResult;
}

/** @param results at least one */
export function errorsOf(results: readonly CellResult[], found: Found, quantity: Quantity): Errors {
  const errors = results.map((result) => Math.abs(result[found][quantity] / result.measured[quantity] - 1));
  const worst = Math.max(...errors);
  return { median: median(errors), worst, worstCell: results[errors.indexOf(worst)] as CellResult };
}

/** Errors of both answers, in sentences. */
export function findings(results: readonly CellResult[], modelBytes: number): string[] {
  const part = (quantity: Quantity): string => {
    const own = judged(results, quantity, modelBytes);
    if (own.length === 0) return 'no plan reads anything.';
    const [simulated, predicted] = [errorsOf(own, 'simulated', quantity), errorsOf(own, 'predicted', quantity)];
    return (
      `simulated with a median error of ${formatPercent(simulated.median)} (worst ${formatPercent(simulated.worst)}: ` +
      `${cellName(simulated.worstCell.cell)}), predicted with ${formatPercent(predicted.median)} (worst ` +
      `${formatPercent(predicted.worst)}).`
    );
  };
  const aim = `The aim for simulated figures is ${formatPercent(AIM.median)} in the median and ${formatPercent(AIM.worst)} at worst; only probes were used for calibration.`;
  return [`${results.length} plans.`, `TPOT: ${part('seconds')}`, `Bytes read: ${part('bytes')}`, aim];
}
