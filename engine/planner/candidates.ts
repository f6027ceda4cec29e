import { hasOverlappedForm, predictOverlapped } from '../cost/overlap.ts';
import { predict } from '../cost/predict.ts';
import type { Plan } from '../plan/plan.ts';
import { singleDevice } from '../schedule/baselines/single-device.ts';
import { optimal } from '../schedule/exact/optimal.ts';
import { helmRing } from '../schedule/helm/ring.ts';
import { ringAware } from '../schedule/ring-aware/ring-aware.ts';
import type { SchedulingProblem } from '../schedule/scheduler.ts';
import { tensorPartition } from '../schedule/tensor-partition/tensor-partition.ts';
import { withChips } from '../schedule/tensor-partition/with-chips.ts';
import { plansWithRelays } from '../schedule/with-relays.ts';

/** A plan and its predicted TPOT in seconds. */
export interface Candidate {
  readonly plan: Plan;
  readonly seconds: number;
}

/** Plans by `ring-aware` that are compared: the best for this many numbers of rounds and places of the output layer. */
const RING_AWARE_PLANS = 5;

/**
 * The plans that are worth comparing for a model on a cluster, the fastest by closed form first: those of the schedulers
 * that need no integer program and never plan more than memory holds. Plans that can't run are left out.
 */
export function candidates(problem: SchedulingProblem): Candidate[] {
  const seen = new Set<string>();
  return plansWithRelays(problem, plansOf)
    .filter((plan) => {
      const key = JSON.stringify({ ...plan, scheduler: '' });
      return !seen.has(key) && seen.add(key);
    })
    .map((plan) => ({ plan, seconds: closedFormSeconds(problem, plan) }))
    .filter(({ seconds }) => Number.isFinite(seconds))
    .sort((one, other) => one.seconds - other.seconds);
}

function plansOf(problem: SchedulingProblem): Plan[] {
  return [
    ...withChips((given, cut) => {
      const result = ringAware(given);
      return { ...result, considered: result.considered.map((one) => ({ ...one, plan: cut(one.plan) })) };
    })(problem).considered.slice(0, RING_AWARE_PLANS),
    withChips((given) => optimal({ ...given, reclaim: 'overflow' }))(problem),
    withChips((given) => optimal({ ...given, reclaim: 'lru' }))(problem),
    helmRing(problem),
    singleDevice(problem),
    tensorPartition(problem),
  ].flatMap(({ plan }) => (plan === undefined ? [] : [plan]));
}

/**
 * Predicted TPOT of a plan, seconds: with overlap for a ring (predictOverlapped), the papers' sum for the other kinds of
 * plans (predict), both under `lru`, which is what Linux and macOS do. Infinite for plans that can't run.
 * @param verifiedTokens γ + 1: the seconds are those of a pass that verifies so many tokens (speculation.ts)
 */
export function closedFormSeconds(
  { belief, model, workload, runtime }: SchedulingProblem,
  plan: Plan,
  verifiedTokens = 1,
): number {
  const common = { plan, truth: belief, model, workload, ...(runtime && { runtime }) };
  const asked = { ...common, verifiedTokens, reclaim: 'lru' } as const;
  const { infeasible, tokenSeconds } = predict(asked);
  if (infeasible.length > 0) return Number.POSITIVE_INFINITY;
  return hasOverlappedForm(plan) ? predictOverlapped(asked).tokenSeconds : tokenSeconds;
}
