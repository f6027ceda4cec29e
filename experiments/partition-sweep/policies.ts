import type { DeviceCosts, RingCosts } from '../../engine/cost/ring-costs.ts';
import { type Plan, planShares } from '../../engine/plan/plan.ts';
import { NO_WEIGHTS_POLICY, type WeightsPolicy } from '../../engine/plan/weights-policy.ts';
import { managedWindows, type WindowLoad } from '../../engine/schedule/ring-aware/windows.ts';
import { DEFAULT_EXTENT_BYTES } from '../../simulator/page-cache/page-cache.ts';

/**
 * Weights policies of a whole plan, by name:
 * - `none`: page faults load what is missing;
 * - `willneed`, `populate`: the next window is requested, or read by a helper thread, after each window;
 * - `drop`: as `populate`, and a used window is released;
 * - `pinned`: a part of every window is pinned, the rest is populated and released; where the rest of a window doesn't
 *   fit next to the pinned part, page faults load it; where everything fits, nothing is pinned (see managedWindows).
 */
export const POLICIES = ['none', 'willneed', 'populate', 'drop', 'pinned'] as const;
export type PolicyName = (typeof POLICIES)[number];

/** A device's policy by its name. */
export function weightsPolicy(
  name: PolicyName,
  costs: RingCosts,
  device: DeviceCosts,
  load: WindowLoad,
): WeightsPolicy {
  switch (name) {
    case 'none':
    case 'willneed':
    case 'populate':
      return { prefetch: name, release: 'none' };
    case 'drop':
      return { prefetch: 'populate', release: 'drop' };
    case 'pinned': {
      const choices = managedWindows(costs, device, load);
      const [first] = choices;
      return (choices.find(({ residence }) => residence !== 'faulted') ?? first)?.policy ?? NO_WEIGHTS_POLICY;
    }
  }
}

/**
 * The name of a plan's policy: `pinned` if some devices pin and the others need not; `undefined` for other mixtures.
 */
export function policyOf(plan: Plan): PolicyName | undefined {
  const names = new Set(Object.values(plan.weights).map(nameOf));
  const [first] = names;
  if (names.size === 1) return first;
  return names.has('pinned') && !names.has('willneed') && !names.has('populate') ? 'pinned' : undefined;
}

function nameOf({ prefetch, release }: WeightsPolicy): PolicyName | undefined {
  if (release === 'pinned') return 'pinned';
  if (release === 'drop') return prefetch === 'populate' ? 'drop' : undefined;
  return POLICIES.find((name) => name === prefetch);
}

/** The plan with another weights policy on all of its devices, whose windows are alike in all rounds. */
export function withPolicy(plan: Plan, costs: RingCosts, policy: PolicyName): Plan {
  const weights = planShares(plan).map(({ device, cpuLayers, gpuLayers, windows }) => {
    const own = costs.devices.find(({ name }) => name === device) as DeviceCosts;
    const load = {
      rounds: windows,
      layers: (cpuLayers + gpuLayers) / windows,
      gpuLayers: gpuLayers / windows,
      output: plan.output.device === device ? plan.output.processor : undefined,
      extentBytes: DEFAULT_EXTENT_BYTES,
    };
    return [device, weightsPolicy(policy, costs, own, load)] as const;
  });
  return { ...plan, weights: Object.fromEntries(weights) };
}
