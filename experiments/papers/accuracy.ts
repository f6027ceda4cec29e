import { median } from '../report/median.ts';
import type { Answer, Comparison, Use } from './comparison.ts';

/** Errors of results compared with published ones. */
export interface Accuracy {
  readonly cells: number;
  /** Median of the absolute errors. */
  readonly median: number;
  /** The largest error, with its sign. */
  readonly worst: number;
}

/** The accuracy of signed errors; `undefined` if there are none. */
export function accuracyOf(errors: readonly number[]): Accuracy | undefined {
  const [first, ...rest] = errors;
  if (first === undefined) return undefined;
  const worst = rest.reduce((most, error) => (Math.abs(error) > Math.abs(most) ? error : most), first);
  return { cells: errors.length, median: median(errors.map(Math.abs)), worst };
}

/** The accuracy of one answer over the comparisons of one use. */
export function accuracyOn(comparisons: readonly Comparison[], use: Use, answer: Answer): Accuracy | undefined {
  const own = comparisons.filter((one) => one.use === use);
  return accuracyOf(own.flatMap((one) => one[`${answer}Error`] ?? []));
}

/** Whether no error is larger than `limit`. */
export function within({ worst }: Accuracy, limit: number): boolean {
  return Math.abs(worst) <= limit;
}
