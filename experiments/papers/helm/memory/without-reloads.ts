import type { Model } from '../../../../engine/model/model.ts';
import type { Plan } from '../../../../engine/plan/plan.ts';

/** A single device's weights that aren't on its GPU stay in RAM. */
export function withoutReloads(plan: Plan, model: Model): Plan {
  const { device, processor } = plan.output;
  const cpuLayers = plan.stages.reduce(
    (sum, { processor, from, to }) => sum + (processor === 'cpu' ? to - from : 0),
    0,
  );
  const pinned = cpuLayers * model.layer.bytes + (processor === 'cpu' ? model.output.bytes : 0);
  if (pinned === 0) return plan;
  return { ...plan, weights: { [device]: { prefetch: 'none', release: 'pinned', pinned } } };
}
