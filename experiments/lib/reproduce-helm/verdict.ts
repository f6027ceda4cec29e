import type { HelmComparison } from './comparisons.ts';

/** `within noise`: the target is missed, but between what the thesis prints of the same quantity. */
export type Verdict = 'kept' | 'within noise' | 'missed';

/** Whether a prediction keeps its target; undefined without one. */
export function verdictOf({ predicted, published, target, range }: HelmComparison): Verdict | undefined {
  if (target === undefined || typeof predicted !== 'number' || typeof published !== 'number') return undefined;
  if (Math.abs(predicted / published - 1) <= target.limit) return 'kept';
  return range !== undefined && range[0] <= predicted && predicted <= range[1] ? 'within noise' : 'missed';
}
