import { cellName, policyName } from '../../datasets/lab/cell.ts';
import { formatPercent } from '../../engine/input/format.ts';
import type { ComparedCell } from '../lab/run-cells.ts';
import { median } from '../report/median.ts';

export const QUANTITIES = ['seconds', 'bytes'] as const;
export type Quantity = (typeof QUANTITIES)[number];
export const FOUND = ['simulated', 'overlapped', 'predicted'] as const;
export type Found = (typeof FOUND)[number];
/** The answers in words. */
export const FOUND_NAMES: Readonly<Record<Found, string>> = {
  simulated: 'simulated',
  overlapped: 'predicted with overlap',
  predicted: 'predicted (A.3)',
};

/** Aims for the errors of simulated figures, of time and bytes alike, and of times that are predicted with overlap. */
export const AIMS = { simulated: { median: 0.02, worst: 0.1 }, overlapped: { median: 0.1, worst: 0.3 } };

/** Smallest share of the model that a token reads for an error of its bytes to mean anything. */
const LEAST_SHARE = 0.01;

/** The results on which a quantity is judged: bytes only where a token reads a share of the model worth counting. */
export function judged<Result extends ComparedCell>(
  results: readonly Result[],
  quantity: Quantity,
  modelBytes: number,
): Result[] {
  return quantity === 'seconds'
    ? [...results]
    : results.filter(({ measured }) => measured.bytes >= LEAST_SHARE * modelBytes);
}

export interface Errors {
  readonly median: number;
  readonly worst: number;
  readonly worstCell: ComparedCell;
}

/** @param results at least one */
export function errorsOf(results: readonly ComparedCell[], found: Found, quantity: Quantity): Errors {
  const errors = results.map((result) => Math.abs(result[found][quantity] / result.measured[quantity] - 1));
  const worst = Math.max(...errors);
  return { median: median(errors), worst, worstCell: results[errors.indexOf(worst)] as ComparedCell };
}

/** An error of a simulated time, and a deviation between both ends of a range, that are as good as none. */
const NEAR = 0.1;
/** Half the width of a range, as a share of its middle, from which on it says little. */
const WIDE = 0.15;

/** Number of measured times within their simulated range, or next to it; nothing where no range was simulated. */
export function rangeFindings(results: readonly ComparedCell[]): string[] {
  const ranged = results.flatMap(({ measured, range }) => (range ? [{ seconds: measured.seconds, ...range }] : []));
  if (ranged.length === 0) return [];
  const inside = ranged.filter(({ seconds, least, most }) => seconds >= least && seconds <= most);
  const near = ranged.filter(
    ({ seconds, least, most }) => seconds >= least / (1 + NEAR) && seconds <= most / (1 - NEAR),
  );
  const wide = ranged.filter(({ least, most }) => (most - least) / (most + least) > WIDE);
  return [
    `With up to 1 % less and more memory on all devices, ${inside.length} of ${ranged.length} measured TPOT lie inside the simulated range and ${near.length} within ${formatPercent(NEAR)} of it; ${wide.length} ranges are wider than ±${formatPercent(WIDE)}.`,
  ];
}

/** Errors of all answers, in sentences. */
export function findings(results: readonly ComparedCell[], modelBytes: number): string[] {
  const part = (quantity: Quantity): string => {
    const own = judged(results, quantity, modelBytes);
    if (own.length === 0) return 'no plan reads anything.';
    const sentences = FOUND.map((found) => {
      const { median: middle, worst, worstCell } = errorsOf(own, found, quantity);
      const cell = found === 'predicted' ? '' : `: ${cellName(worstCell.cell)}`;
      return `${FOUND_NAMES[found]} with a median error of ${formatPercent(middle)} (worst ${formatPercent(worst)}${cell})`;
    });
    return `${sentences.join('; ')}.`;
  };
  const aims = (['simulated', 'overlapped'] as const).map(
    (found) =>
      `${FOUND_NAMES[found]} ${formatPercent(AIMS[found].median)} in the median and ${formatPercent(AIMS[found].worst)} at worst`,
  );
  return [
    `${results.length} plans.`,
    `TPOT: ${part('seconds')}`,
    `Bytes read: ${part('bytes')}`,
    ...rangeFindings(results),
    `The aims are ${aims.join(', ')}; only probes were used for calibration.`,
  ];
}

/** The errors of the plans of one policy. */
export interface PolicyErrors {
  readonly policy: string;
  readonly plans: number;
  readonly seconds: Readonly<Record<Found, Errors>>;
  /** `undefined` if no plan of the policy reads a share of the model worth counting. */
  readonly bytes: Readonly<Record<Found, Errors>> | undefined;
}

/** Errors by kind of policy, with and without prefetching, in the order of the results. */
export function errorsByPolicy(results: readonly ComparedCell[], modelBytes: number): PolicyErrors[] {
  const names = [...new Set(results.map(({ cell }) => policyName(cell.policy)))];
  return names.map((policy) => {
    const own = results.filter(({ cell }) => policyName(cell.policy) === policy);
    const all = (some: readonly ComparedCell[], quantity: Quantity): Readonly<Record<Found, Errors>> => ({
      simulated: errorsOf(some, 'simulated', quantity),
      overlapped: errorsOf(some, 'overlapped', quantity),
      predicted: errorsOf(some, 'predicted', quantity),
    });
    const reading = judged(own, 'bytes', modelBytes);
    return {
      policy,
      plans: own.length,
      seconds: all(own, 'seconds'),
      bytes: reading.length === 0 ? undefined : all(reading, 'bytes'),
    };
  });
}
