import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { type IntegerSolver, loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULERS, type SchedulerName } from '../../engine/schedule/registry.ts';
import type { PartitionInputs } from './inputs.ts';
import type { Judged } from './judge.ts';
import { fasterThan, type Landscape } from './landscape.ts';
import type { PolicyName } from './policies.ts';
import { withPolicy } from './policies.ts';

/** A scheduler's plan, and its rank in the landscape. */
export type Choice =
  | { readonly scheduler: string; readonly status: 'none'; readonly message: string }
  | { readonly scheduler: string; readonly status: 'unrunnable'; readonly plan: Plan; readonly message: string }
  | JudgedChoice;

export interface JudgedChoice {
  readonly scheduler: string;
  readonly status: 'judged';
  readonly plan: Plan;
  readonly seconds: number;
  readonly predicted: number;
  /** Number of plans of the sweep that are faster. */
  readonly faster: number;
  /** Its TPOT over that of the fastest plan of the sweep. */
  readonly ratio: number;
  /** The same layers on the same devices under the best of the sweep's weights policies. */
  readonly bestPolicy: { readonly policy: PolicyName; readonly seconds: number } | undefined;
}

interface ChoiceParts {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly costs: RingCosts;
  readonly policies: readonly PolicyName[];
  readonly solver: IntegerSolver;
  readonly judge: (plan: Plan) => Judged;
  readonly landscape: Landscape;
}

/** Time limit of one integer program, seconds; those of a home take well under one second. */
const SOLVER_SECONDS = 20;

/** Asks every scheduler for its plan, and judges it. */
export async function askSchedulers(
  schedulers: readonly SchedulerName[],
  { cluster, model, setting, sweeper }: PartitionInputs,
  landscape: Landscape,
): Promise<Choice[]> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  try {
    const { workload, policies } = setting;
    const parts: ChoiceParts = { ...sweeper, cluster, model, workload, policies, solver, landscape };
    return schedulers.map((scheduler) => chooseBy(scheduler, parts));
  } finally {
    solver.dispose();
  }
}

/** Asks a scheduler for its plan and judges it as the plans of the sweep were; it need not be one of these. */
function chooseBy(scheduler: SchedulerName, parts: ChoiceParts): Choice {
  const { cluster, model, workload, solver, landscape, costs, judge } = parts;
  const scheduled = SCHEDULERS[scheduler].plan({ belief: cluster, model, workload }, solver);
  if (scheduled.plan === undefined) return { scheduler, status: 'none', message: scheduled.message };
  const { plan } = scheduled;
  const judged = judge(plan);
  if ('failed' in judged) return { scheduler, status: 'unrunnable', plan, message: judged.failed };
  const best = landscape.seconds[landscape.ranking[0] as number] as number;
  const others = parts.policies.flatMap((policy) => {
    const under = judge(withPolicy(plan, costs, policy));
    return 'failed' in under ? [] : [{ policy, seconds: under.seconds }];
  });
  return {
    scheduler,
    status: 'judged',
    plan,
    ...judged,
    faster: fasterThan(landscape, judged.seconds),
    ratio: judged.seconds / best,
    bestPolicy: others.sort((one, other) => one.seconds - other.seconds)[0],
  };
}
