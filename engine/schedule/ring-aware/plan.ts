import type { RingCosts } from '../../cost/ring-costs.ts';
import type { Plan } from '../../plan/plan.ts';
import { ringPlan } from '../../plan/ring-plan.ts';
import type { RingAwareAssignment } from './assign.ts';

/** The plan of an assignment, with the weights policy of each device that holds layers. */
export function ringAwarePlan({ devices }: RingCosts, { rounds, output, turns }: RingAwareAssignment): Plan {
  const named = turns.map((own) => ({ ...own, device: devices[own.device]?.name ?? '' }));
  const plan = ringPlan({
    scheduler: 'ring-aware',
    head: devices[0]?.name ?? '',
    rounds,
    windows: named,
    outputProcessor: output,
  });
  const holders = named.filter(({ layers }) => layers > 0);
  return { ...plan, weights: Object.fromEntries(holders.map(({ device, policy }) => [device, policy])) };
}
