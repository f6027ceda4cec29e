import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { NO_WEIGHTS_POLICY } from '../../engine/plan/weights-policy.ts';
import { layoutOf, type RingLayout } from '../../engine/ring/head/planning.ts';
import { otherDevices } from './members.ts';

/** The plan with a policy for every device that holds layers: where it names none, the operating system has the weights. */
export function withPolicies<Some extends Plan>(plan: Some): Some {
  if (plan.kind !== 'ring' && plan.kind !== 'split') return plan;
  const holders = new Set([plan.output, ...plan.stages].map(({ device }) => device));
  const weights = [...holders].map((device) => [device, plan.weights[device] ?? NO_WEIGHTS_POLICY] as const);
  return { ...plan, weights: Object.fromEntries(weights) };
}

/**
 * The part of a plan that the devices of a ring carry out.
 * @param file the plan's, for messages
 * @throws InputError for a plan that a ring doesn't carry out, or of another model
 */
export function ringLayout(plan: Plan, model: Model, file: string): RingLayout {
  const carried = withPolicies(plan);
  return layoutOf(carried, {
    ...{ model, context: 1, kvFormat: 'F16', maxPressure: undefined, scheduling: undefined },
    devices: [plan.embedding.device, ...otherDevices(plan)],
    requested: { prefetch: undefined, release: undefined },
    plan: { file, plan: carried },
  });
}
