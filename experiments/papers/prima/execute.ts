import type { Breakdown } from '../../../engine/cost/breakdown.ts';
import { predict } from '../../../engine/cost/predict.ts';
import type { Runtime } from '../../../engine/cost/runtime.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';
import type { Workload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { memoryRatio } from '../../../engine/schedule/baselines/memory-ratio.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { SCHEDULERS } from '../../../engine/schedule/registry.ts';
import type { Scheduled, SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import type { SimulationResult } from '../../../simulator/result.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { ringOrAlone } from './planners.ts';
import type { SystemPolicy } from './policies.ts';

/** A system on a testbed with a model. */
export interface Job {
  readonly policy: SystemPolicy;
  /** What the scheduler sees (belief), and what the devices have (truth). */
  readonly belief: Cluster;
  readonly truth: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  /** Buffers of the program. */
  readonly runtime: Runtime;
}

/** A plan with its prediction and simulation; `why` says in one line why there is no plan, or that memory is lacking. */
export interface Execution {
  readonly plan: Plan | undefined;
  readonly predicted: Breakdown | undefined;
  readonly simulated: SimulationResult | undefined;
  readonly why: string;
}

/** Plans with the system's scheduler, predicts the plan under the policy, and simulates it. */
export function execute({ policy, belief, truth, model, workload, runtime }: Job, solver: IntegerSolver): Execution {
  const problem = { belief, model, workload, runtime };
  const scheduled = planned(policy.scheduler, problem, solver);
  if (scheduled.plan === undefined)
    return { plan: undefined, predicted: undefined, simulated: undefined, why: scheduled.message };
  const plan = policy.prefetches ? scheduled.plan : withoutPrefetch(scheduled.plan);
  const predicted = predict({ plan, truth, model, workload, reclaim: policy.predicted, runtime });
  const simulated =
    policy.simulated === undefined
      ? undefined
      : simulate({
          cluster: truth,
          model,
          plan,
          workload,
          runtime,
          reclaim: policy.simulated,
          context: 'fixed',
          record: 'tokens',
        });
  return {
    plan,
    predicted,
    simulated,
    why: predicted.infeasible[0]?.reason ?? simulated?.outOfMemory[0]?.reason ?? '',
  };
}

function planned(scheduler: SystemPolicy['scheduler'], problem: SchedulingProblem, solver: IntegerSolver): Scheduled {
  if (scheduler === 'ring or alone') return ringOrAlone(problem);
  if (scheduler === 'vram-ratio') return memoryRatio(problem, { memory: 'accelerator' });
  return SCHEDULERS[scheduler].plan(problem, solver);
}

function withoutPrefetch(plan: Plan): Plan {
  const weights = Object.entries(plan.weights).map(([device, policy]) => [
    device,
    { ...policy, prefetch: 'none' as const },
  ]);
  return { ...plan, weights: Object.fromEntries(weights) };
}
