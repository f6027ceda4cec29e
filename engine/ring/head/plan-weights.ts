import type { Plan } from '../../plan/plan.ts';
import { FIT_POLICY, type Prefetch, type Release, type WeightsPolicy } from '../../plan/weights-policy.ts';
import type { WeightsReport } from '../wire/message.ts';

/** What a ring's user asks of all devices. */
export interface RequestedWeights {
  readonly prefetch: Prefetch | undefined;
  readonly release: Release | undefined;
}

/**
 * The plan with a weights policy for every device that holds weights: what the user asks for, else what the plan says,
 * else FIT_POLICY.
 * @param scheduled a scheduler made the plan. Where it leaves memory to the operating system, as the papers' systems do,
 * FIT_POLICY takes its place; a plan written by hand is taken at its word.
 */
export function planWeights(plan: Plan, { prefetch, release }: RequestedWeights, scheduled: boolean): Plan {
  const holders = new Set([plan.output, ...plan.stages].map(({ device }) => device));
  const weights = [...holders].map((device): [string, WeightsPolicy] => {
    const planned = plan.weights[device];
    const base = planned === undefined || (scheduled && planned.release === 'none') ? FIT_POLICY : planned;
    const asked = prefetch ?? base.prefetch;
    const released = release ?? base.release;
    if (released !== 'pinned') return [device, { prefetch: asked, release: released }];
    const pinned = base.release === 'pinned' ? base.pinned : 'fit';
    return [device, { prefetch: asked, release: released, pinned }];
  });
  return { ...plan, weights: Object.fromEntries(weights) };
}

/** The plan with what its devices' memories made of policies that leave something open. */
export function fittedPlan(plan: Plan, reports: ReadonlyMap<string, WeightsReport>): Plan {
  const weights = [...reports].map(([device, { policy }]) => [device, policy] as const);
  return { ...plan, weights: { ...plan.weights, ...Object.fromEntries(weights) } };
}
