import { totalLayerSeconds } from '../engine/cost/layer-seconds.ts';
import { createRingCosts, type DeviceCosts } from '../engine/cost/ring-costs.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { singleDevice } from '../engine/schedule/baselines/single-device.ts';
import type { PlanningProblem } from './question.ts';

/** Plans that differ by a smaller share of their time count as equally fast. */
const SAME_SHARE = 1e-3;

/**
 * A plan that has the whole model on one device, where no plan of whole layers can be faster: one that takes as long as all
 * layers on the processor with the least time for them, and the output layer where it takes the least. `undefined` where
 * there is none, and for chips, which cut operators between processors.
 * @param rings the cluster with each device that may be the head in the first place, as it is believed to be
 * @param secondsOf the predicted TPOT of a plan, seconds
 */
export function fastestAlone(
  problem: PlanningProblem,
  rings: readonly Cluster[],
  secondsOf: (plan: Plan) => number,
): Plan | undefined {
  const { model, workload, runtime } = problem;
  const [any] = rings;
  if (any === undefined || any.devices.some(({ npu }) => npu !== undefined)) return undefined;
  const { devices } = createRingCosts(any, model, workload, runtime);
  const heads = new Set(rings.map((ring) => ring.devices[0]?.name));
  const output = Math.min(...devices.filter(({ name }) => heads.has(name)).map(outputSeconds));
  const least = Math.min(...devices.map((device) => layersSeconds(device, model.layers))) + output;
  for (const ring of rings) {
    const { plan } = singleDevice({ ...problem, belief: ring });
    if (plan !== undefined && secondsOf(plan) <= least * (1 + SAME_SHARE)) return plan;
  }
  return undefined;
}

function outputSeconds({ outputOnCpuTotal, outputOnGpuTotal }: DeviceCosts): number {
  return Math.min(outputOnCpuTotal, outputOnGpuTotal);
}

/** Seconds of all layers on the processor of a device that takes the least, with its copies. */
function layersSeconds({ cpuLayer, gpuLayer, windowCopy, crossed }: DeviceCosts, layers: number): number {
  const apart = crossed();
  const besideCpu =
    apart === undefined
      ? Number.POSITIVE_INFINITY
      : totalLayerSeconds(apart.always) + totalLayerSeconds(apart.onCpu) + apart.toCpu + apart.toGpu;
  return Math.min(layers * cpuLayer, layers * Math.min(gpuLayer, besideCpu) + windowCopy);
}
