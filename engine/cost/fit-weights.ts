import type { FittedPlan, Plan } from '../plan/plan.ts';
import { type FittedPolicy, fitPolicy, isFitted, type WeightsPolicy } from '../plan/weights-policy.ts';
import { windowsOf } from '../plan/windows.ts';
import { fixedBytes, loadOfStages, mappedBytes } from './memory.ts';
import { roomForWeights } from './reclaim.ts';
import type { DeviceCosts, RingCosts } from './ring-costs.ts';

/**
 * The plan with all weights policies fitted: whatever a policy leaves to the device's memory (`fit`) is decided from
 * the memory of the cluster's devices. A plan without open choices is returned unchanged.
 */
export function fitWeights(plan: Plan, costs: RingCosts): FittedPlan {
  let open = false;
  for (const device in plan.weights) open ||= !isFitted(plan.weights[device] as WeightsPolicy);
  if (!open) return plan as FittedPlan;
  const weights = Object.entries(plan.weights).map(([name, policy]) => {
    const device = costs.devices.find((one) => one.name === name) as DeviceCosts;
    return [name, isFitted(policy) ? policy : fitDevice(plan, costs, device, policy)];
  });
  return { ...plan, weights: Object.fromEntries(weights) };
}

function fitDevice(plan: Plan, costs: RingCosts, device: DeviceCosts, policy: WeightsPolicy): FittedPolicy {
  const own = windowsOf(plan).filter((window) => window.device === device.name);
  const head = plan.output.device === device.name ? plan.output.processor : undefined;
  const windows = own.map((window) => mappedBytes(costs, device, loadOfStages(plan, window.stages, undefined)));
  const mapped = windows.reduce((sum, bytes) => sum + bytes, 0);
  const whole = loadOfStages(
    plan,
    own.flatMap(({ stages }) => stages),
    head,
  );
  const output = mappedBytes(costs, device, whole) - mapped;
  const room = roomForWeights(device.available - fixedBytes(costs, device, whole), mapped + output);
  return fitPolicy(policy, { windows, output, room });
}
