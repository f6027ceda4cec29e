import type { HelmComparison } from './rules.ts';

/**
 * `within noise`: the target is missed, but between what the thesis prints of the same quantity; `excluded`: it is kept at
 * most prints of the quantity, and no answer keeps it at these and at this one.
 */
export type Verdict = 'kept' | 'within noise' | 'excluded' | 'missed';

/** What a verdict is about, in any unit. */
export type Judged = Pick<HelmComparison, 'predicted' | 'published' | 'target' | 'range' | 'prints'>;

/** Whether a prediction keeps its target; undefined without one. */
export function verdictOf({ predicted, published, target, range, prints }: Judged): Verdict | undefined {
  if (target === undefined || typeof predicted !== 'number' || typeof published !== 'number') return undefined;
  const { limit } = target;
  const isKept = (print: number): boolean => Math.abs(predicted / print - 1) <= limit;
  if (isKept(published)) return 'kept';
  if (range !== undefined && range[0] <= predicted && predicted <= range[1]) return 'within noise';
  const kept = prints.filter(isKept);
  const [least, most] = [Math.min(...kept, published), Math.max(...kept, published)];
  const excludes = most * (1 - limit) > least * (1 + limit);
  return kept.length > prints.length / 2 && excludes ? 'excluded' : 'missed';
}
