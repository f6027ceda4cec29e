import { predict } from '../../engine/cost/predict.ts';
import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { halda } from '../../engine/schedule/halda/halda.ts';
import { ALGORITHM_1_REPAIRED } from '../../engine/schedule/halda/options.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { ringAware } from '../../engine/schedule/ring-aware/ring-aware.ts';
import type { Scheduled, SchedulingProblem } from '../../engine/schedule/scheduler.ts';
import { withChips } from '../../engine/schedule/tensor-partition/with-chips.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';
import { simulatedSeconds } from '../../simulator/simulated-seconds.ts';
import type { Variant } from './variants.ts';

/** The schedulers that plan the ring. */
export const PLANNERS = ['halda-repaired', 'optimal', 'ring-aware'] as const;
export type Planner = (typeof PLANNERS)[number];

/** A plan with its times, or the reason why there is none. */
export interface PhonesRow {
  readonly model: string;
  readonly bytes: number;
  readonly planner: Planner;
  readonly variant: string;
  readonly plan: Plan | undefined;
  readonly judged: Judged | undefined;
  readonly reason: string | undefined;
}

export interface PhonesCase {
  readonly variant: Variant;
  readonly model: Model;
  readonly workload: Workload;
  readonly planner: Planner;
  readonly solver: IntegerSolver;
}

type Scheduler = (problem: SchedulingProblem, cut: (plan: Plan) => Plan) => Scheduled;

export function planAndJudge({ variant, model, workload, planner, solver }: PhonesCase): PhonesRow {
  const { cluster, system } = variant;
  const schedule = schedulerOf({ variant, model, workload, planner, solver });
  const found = withChips(schedule, { system })({ belief: cluster, model, workload });
  const { plan } = found;
  return {
    model: model.name,
    bytes: model.bytes,
    planner,
    variant: variant.name,
    plan,
    judged: plan && judge(plan, { cluster, model, workload }),
    reason: found.plan === undefined ? found.message : undefined,
  };
}

function schedulerOf({ variant: { cluster }, model, workload, planner, solver }: PhonesCase): Scheduler {
  switch (planner) {
    case 'halda-repaired':
      return (given) => halda(given, solver, ALGORITHM_1_REPAIRED);
    case 'optimal':
      return (given) => optimal(given);
    case 'ring-aware': {
      const seconds = simulatedSeconds({
        cluster,
        model,
        workload,
        reclaim: 'overflow',
        prompt: workload.promptTokens,
      });
      return (given, cut) => ringAware(given, { simulated: (plan) => seconds(cut(plan)) });
    }
  }
}

/** Seconds for a prompt and for a token. */
interface Times {
  readonly ttft: number;
  readonly tpot: number;
}

export interface Judged {
  readonly predicted: Times;
  readonly simulated: Times;
}

interface JudgedCase {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
}

/** Bytes per second of a disk that takes no time. */
const NO_DISK = 1e14;

/**
 * The times of a plan. Weights are already in memory when the prompt starts, as after an earlier prompt: loading is not
 * counted.
 */
function judge(plan: Plan, { cluster, model, workload }: JudgedCase): Judged {
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
  // The first token depends on what the prompt left in memory.
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
