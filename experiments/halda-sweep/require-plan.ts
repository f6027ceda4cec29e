import { InputError } from '../../engine/input/input-error.ts';
import type { SweepRow } from './sweep.ts';

/**
 * A sweep in which nothing could be planned has nothing to report; nor has one of which the exact planner says so, while
 * schedulers that don't ask for memory have plans that can't run.
 * @throws InputError with the exact planner's reason, or else the first there is
 */
export function requirePlan(rows: readonly SweepRow[]): void {
  const reasons = rows.flatMap(({ cluster, scheduler, outcome }) =>
    outcome.status === 'no-plan' || outcome.status === 'skipped'
      ? [{ cluster, scheduler, message: outcome.message }]
      : [],
  );
  const exact = reasons.find(({ scheduler }) => scheduler === 'optimal');
  const told = exact ?? reasons[0];
  const isHopeless = exact !== undefined && rows.every(({ outcome }) => outcome.status !== 'planned');
  if (told === undefined || (reasons.length < rows.length && !isHopeless)) return;
  throw new InputError(`cluster ${told.cluster}`, `no scheduler finds a plan; ${told.scheduler}: ${told.message}`);
}
