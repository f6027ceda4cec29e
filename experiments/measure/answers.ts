import { predict } from '../../engine/cost/predict.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { Cell, Times } from './cell.ts';

/** Bytes per second of a disk that takes no time: measured models are in memory before they run. */
const NO_DISK = 1e14;

/** Prediction and simulation of a model on the first device of a cluster, with all layers on its CPU. */
export function answersOf(
  cluster: Cluster,
  { model, promptTokens }: Cell,
  outputTokens: number,
): { predicted: Times; simulated: Times } {
  const warm = createCluster({
    ...cluster,
    devices: cluster.devices.map((device) => ({ ...device, disk: { sequential: NO_DISK, random: NO_DISK } })),
  });
  const plan = onCpu(warm, model);
  // The mean over the tokens that are decoded.
  const context = promptTokens + Math.round((outputTokens - 1) / 2);
  const workload = createWorkload({ promptTokens, outputTokens, context });
  const parts = { plan, truth: warm, model, workload };
  const { trace } = simulate({ cluster: warm, model, plan, workload, record: 'tokens' });
  const { firstTokenSeconds = Number.NaN, tokenSeconds = Number.NaN } = metrics(trace);
  return {
    predicted: { ttft: predict({ ...parts, phase: 'prefill' }).tokenSeconds, tpot: predict(parts).tokenSeconds },
    simulated: { ttft: firstTokenSeconds, tpot: tokenSeconds },
  };
}

function onCpu({ devices }: Cluster, { layers }: Model): Plan {
  const head = devices[0]?.name ?? '';
  const windows = [{ device: head, layers, gpuLayers: 0 }];
  return ringPlan({ scheduler: 'hand', head, rounds: 1, windows, prefetch: 'none' });
}
