import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import type { SpacePoint } from './space.ts';
import { withPolicy } from './with-policy.ts';

/** The plan behind a point of the space. */
export function pointPlan(costs: RingCosts, { rounds, output, windows, gpuLayers, policy }: SpacePoint): Plan {
  const shares = costs.devices.map(({ name }, index) => ({
    device: name,
    layers: windows[index] as number,
    gpuLayers: gpuLayers[index] as number,
  }));
  const head = costs.devices[0]?.name ?? '';
  const plan = ringPlan({ scheduler: 'hand', head, rounds, windows: shares, outputProcessor: output });
  return withPolicy(plan, costs, policy);
}
