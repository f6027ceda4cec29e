import type { Plan } from '../plan/plan.ts';
import { PINNED_POLICY, type RequestedPolicy } from '../weights/fit-policy.ts';
import type { WindowPolicy } from '../weights/window-policy.ts';
import type { CarriedWeights } from './message.ts';

/** What a ring's user wants for all devices, whatever the plan says. */
export interface PolicyChoice {
  readonly prefetch: WindowPolicy['prefetch'] | undefined;
  readonly release: WindowPolicy['release'] | undefined;
}

/**
 * What each device is asked to do with its weights: what the plan says for it, or else to keep what it can.
 * @param scheduled a scheduler made the plan: where it leaves memory to the OS, as the papers' systems do, the ring knows
 * better. Who writes a plan by hand means it.
 */
export function ringPolicies(
  plan: Plan,
  devices: readonly string[],
  chosen: PolicyChoice,
  scheduled: boolean,
): Record<string, RequestedPolicy> {
  return Object.fromEntries(
    devices.map((device): [string, RequestedPolicy] => {
      const planned = plan.weights[device];
      const base = planned === undefined || (scheduled && planned.release === 'none') ? PINNED_POLICY : planned;
      const release = chosen.release ?? base.release;
      const pinnedBytes = release === 'pinned' && base.release === 'pinned' ? base.pinnedBytes : 0;
      return [device, { prefetch: chosen.prefetch ?? base.prefetch, release, pinnedBytes }];
    }),
  );
}

/** The plan with what its devices really do: to be simulated, or carried out again. */
export function carriedPlan(plan: Plan, weights: ReadonlyMap<string, CarriedWeights>): Plan {
  const carried = [...weights].map(([device, { policy }]) => {
    const { prefetch } = policy;
    return [device, { ...policy, prefetch: prefetch === 'willneed-whole' ? 'willneed' : prefetch }] as const;
  });
  return { ...plan, weights: { ...plan.weights, ...Object.fromEntries(carried) } };
}
