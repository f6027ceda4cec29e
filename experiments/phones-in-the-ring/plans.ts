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
import { simulatedSeconds } from '../../simulator/simulated-seconds.ts';
import { type Judged, judge } from './judge.ts';
import type { Variant } from './variants.ts';

/** Who plans the ring. */
export const PLANNERS = ['halda-repaired', 'optimal', 'ring-aware'] as const;
export type Planner = (typeof PLANNERS)[number];

/** One plan, judged; without a plan, why. */
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
