import { median } from '../lib/median.ts';

/** How far results lie from published ones: in the middle, without sign, and the error that is largest, with it. */
export interface Accuracy {
  readonly cells: number;
  readonly median: number;
  readonly worst: number;
}

/** Of errors with their signs (quantities.ts); undefined where there is none. */
export function accuracyOf(errors: readonly number[]): Accuracy | undefined {
  const [first, ...rest] = errors;
  if (first === undefined) return undefined;
  const worst = rest.reduce((most, error) => (Math.abs(error) > Math.abs(most) ? error : most), first);
  return { cells: errors.length, median: median(errors.map(Math.abs)), worst };
}

/** No error is larger than `limit`. */
export function within({ worst }: Accuracy, limit: number): boolean {
  return Math.abs(worst) <= limit;
}
