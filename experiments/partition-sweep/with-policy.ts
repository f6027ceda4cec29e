import type { DeviceCosts, RingCosts } from '../../engine/cost/ring-costs.ts';
import { type Plan, planShares } from '../../engine/plan/plan.ts';
import { EXTENT_BYTES } from './granularity.ts';
import { type PolicyName, weightsPolicy } from './policies.ts';

/** The plan with another weights policy on all of its devices, whose windows are alike in all rounds. */
export function withPolicy(plan: Plan, costs: RingCosts, policy: PolicyName): Plan {
  const weights = planShares(plan).map(({ device, cpuLayers, gpuLayers, windows }) => {
    const own = costs.devices.find(({ name }) => name === device) as DeviceCosts;
    const load = {
      rounds: windows,
      layers: (cpuLayers + gpuLayers) / windows,
      gpuLayers: gpuLayers / windows,
      output: plan.output.device === device ? plan.output.processor : undefined,
      extentBytes: EXTENT_BYTES,
    };
    return [device, weightsPolicy(policy, costs, own, load)] as const;
  });
  return { ...plan, weights: Object.fromEntries(weights) };
}
