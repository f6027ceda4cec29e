import { InputError } from '../../../engine/input/input-error.ts';
import type { SweepRow } from './sweep.ts';

/**
 * A sweep in which nothing could be planned has nothing to report.
 * @throws InputError with the exact planner's reason, or else the first there is
 */
export function requirePlan(rows: readonly SweepRow[]): void {
  const reasons = rows.flatMap(({ cluster, scheduler, outcome }) =>
    outcome.status === 'no-plan' || outcome.status === 'skipped'
      ? [{ cluster, scheduler, message: outcome.message }]
      : [],
  );
  const told = reasons.find(({ scheduler }) => scheduler === 'optimal') ?? reasons[0];
  if (told === undefined || reasons.length < rows.length) return;
  throw new InputError(`cluster ${told.cluster}`, `no scheduler finds a plan; ${told.scheduler}: ${told.message}`);
}
