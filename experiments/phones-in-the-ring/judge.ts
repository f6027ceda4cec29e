import { predict } from '../../engine/cost/predict.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';

/** Seconds of a prompt and of a token. */
export interface Times {
  readonly ttft: number;
  readonly tpot: number;
}

export interface Judged {
  readonly predicted: Times;
  readonly simulated: Times;
}

export interface JudgedCase {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
}

/** Bytes per second of a disk that takes no time. */
const NO_DISK = 1e14;

/** What a plan takes. The prompt finds weights in memory, where an earlier one has left them: loading them is not counted. */
export function judge(plan: Plan, { cluster, model, workload }: JudgedCase): Judged {
  const warm = createCluster({
    ...cluster,
    devices: cluster.devices.map((device) => ({ ...device, disk: { sequential: NO_DISK, random: NO_DISK } })),
  });
  const run = (truth: Cluster, outputTokens: number) =>
    simulate({
      cluster: truth,
      model,
      plan,
      workload: { ...workload, outputTokens },
      context: 'fixed',
      reclaim: 'overflow',
      record: 'tokens',
    }).trace;
  // The first token finds memories as the prompt left them.
  const decoded = run(cluster, 2).tokens.at(-1);
  return {
    predicted: {
      ttft: predict({ plan, truth: warm, model, workload, phase: 'prefill' }).tokenSeconds,
      tpot: predict({ plan, truth: cluster, model, workload }).tokenSeconds,
    },
    simulated: {
      ttft: metrics(run(warm, 1)).firstTokenSeconds ?? Number.NaN,
      tpot: decoded === undefined ? Number.NaN : decoded.end - decoded.start,
    },
  };
}
