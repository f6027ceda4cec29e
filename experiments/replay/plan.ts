import { loadPlan } from '../../datasets/load.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { validatePlan } from '../../engine/plan/validate-plan.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULERS, type SchedulerName } from '../../engine/schedule/registry.ts';
import { ringAware } from '../../engine/schedule/ring-aware/ring-aware.ts';
import type { Scheduled, SchedulingProblem } from '../../engine/schedule/scheduler.ts';
import { withChips } from '../../engine/schedule/tensor-partition/with-chips.ts';
import { simulatedReclaim } from '../../simulator/options.ts';
import { simulatedSeconds } from '../../simulator/simulated-seconds.ts';
import { checkMaxPressure } from '../report/planning-options.ts';
import type { ReplayOptions } from './options.ts';
import { closedForm } from './replay.ts';

/** Time limit of one integer program, seconds, for schedulers that need one. */
const SOLVER_SECONDS = 20;

/** The plan that is replayed: from `--plan`, or made by `--scheduler`. @throws InputError if there is none */
export async function planOf(options: ReplayOptions, belief: Cluster, model: Model): Promise<Plan> {
  const { plan: file, scheduler, reclaim, maxPressure, prompt, tokens } = options;
  checkMaxPressure(maxPressure, file === undefined ? [scheduler] : []);
  if (file !== undefined) {
    const plan = loadPlan(file);
    validatePlan(plan, belief, model, `--plan ${file}`);
    return plan;
  }
  const workload = createWorkload({ promptTokens: prompt, context: prompt + tokens - 1 });
  const pressure = maxPressure === undefined ? {} : { maxPressure };
  const problem = { belief, model, workload, reclaim: closedForm(reclaim), ...pressure };
  const scheduled = scheduler === 'ring-aware' ? ranked(problem, reclaim) : await solved(scheduler, problem);
  if (scheduled.plan === undefined) throw new InputError(`--scheduler ${scheduler}`, scheduled.message);
  return scheduled.plan;
}

/** The plan of `ring-aware` that is the fastest in simulation, with chips cut for this prompt. */
function ranked(problem: SchedulingProblem, reclaim: ReplayOptions['reclaim']): Scheduled {
  const { belief, model, workload } = problem;
  const prompt = workload.promptTokens;
  const seconds = simulatedSeconds({ cluster: belief, model, workload, reclaim: simulatedReclaim(reclaim), prompt });
  return withChips((given, cut) => ringAware(given, { simulated: (plan) => seconds(cut(plan)) }))(problem);
}

async function solved(scheduler: SchedulerName, problem: SchedulingProblem): Promise<Scheduled> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  try {
    return SCHEDULERS[scheduler].plan(problem, solver);
  } finally {
    solver.dispose();
  }
}
