import type { ProgramVersion } from '../../../datasets/testbeds.ts';
import type { Breakdown } from '../../../engine/cost/breakdown.ts';
import { predict } from '../../../engine/cost/predict.ts';
import type { Runtime } from '../../../engine/cost/runtime.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';
import type { Workload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import type { Prefetch } from '../../../engine/plan/weights-policy.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import type { SimulationResult } from '../../../simulator/result.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { OPERATING_SYSTEMS } from './machines.ts';
import { planWith } from './planners.ts';
import type { SystemPolicy } from './policies.ts';

/** A system on a testbed with a model. */
export interface Job {
  readonly policy: SystemPolicy;
  /** The version of prima.cpp's program. */
  readonly version: ProgramVersion;
  /** The cluster as the scheduler sees it (belief), and as it is (truth). */
  readonly belief: Cluster;
  readonly truth: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  /** Whether the page cache is warm when the prompt comes. */
  readonly warm: boolean;
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

/** Plans with the system's planner on what is believed; predicts and simulates the plan on what is true. */
export function execute(
  { policy, version, belief, truth, model, workload, runtime, warm }: Job,
  solver: IntegerSolver,
): Execution {
  const scheduled = planWith(policy.planner, { belief, model, workload, runtime }, version, solver);
  if (scheduled.plan === undefined)
    return { plan: undefined, predicted: undefined, simulated: undefined, why: scheduled.message };
  const plan = withPrefetch(scheduled.plan, policy.prefetch);
  const reclaiming = policy.reclaiming ?? OPERATING_SYSTEMS;
  const predicted = predict({ plan, truth, model, workload, reclaim: reclaiming.predicted, runtime });
  const simulated = simulate({
    cluster: truth,
    model,
    plan,
    workload,
    runtime,
    warm,
    reclaim: reclaiming.simulated,
    context: 'fixed',
    record: 'tokens',
  });
  return {
    plan,
    predicted,
    simulated,
    why: predicted.infeasible[0]?.reason ?? simulated.outOfMemory[0]?.reason ?? '',
  };
}

/** The plan with one way to prefetch on every device; as it is where none is given. */
export function withPrefetch(plan: Plan, prefetch: Prefetch | undefined): Plan {
  if (prefetch === undefined) return plan;
  const weights = Object.entries(plan.weights).map(([device, policy]) => [device, { ...policy, prefetch }]);
  return { ...plan, weights: Object.fromEntries(weights) };
}
