import type { ReclaimPolicy } from '../../../cost/reclaim.ts';
import { createRingPredictor } from '../../../cost/ring.ts';
import { createRingCosts } from '../../../cost/ring-costs.ts';
import type { Cluster } from '../../../hardware/cluster.ts';
import type { Plan } from '../../../plan/plan.ts';
import { ringPlan } from '../../../plan/ring-plan.ts';
import type { IntegerSolver } from '../../integer-solver.ts';
import { noPlan, type Scheduled, type SchedulingProblem, worthwhilePrefetch } from '../../scheduler.ts';
import { milpProgram, type RoundsColumns } from './program.ts';

export interface MilpOptions {
  readonly solver: IntegerSolver;
  /** `any`: the output layer runs on the head's CPU or GPU; `cpu`: on its CPU (prima.cpp Eq. 12). */
  readonly output?: 'any' | 'cpu';
  /** `may`: the head can leave all layers to others; `must`: w ≥ 1 for it (Eq. 2). */
  readonly headLayers?: 'may' | 'must';
}

/** Largest relative difference of the program's objective from the plan's prediction; above the solver's tolerance. */
const AGREEMENT = 1e-5;

/**
 * The exact optimum of the layer-to-device assignment (prima.cpp Eqs. 1–5, 11–19) as one mixed-integer program. It is
 * an independent certificate of `optimal`: it shares the coefficients with it, but not the search. The plan is built
 * from the rounded integers and predicted again; if the prediction disagrees with the program, there is no plan.
 */
export function milp(
  problem: SchedulingProblem,
  { solver, output = 'any', headLayers = 'may' }: MilpOptions,
): Scheduled {
  const { belief, model, workload, reclaim = 'overflow', runtime } = problem;
  const costs = createRingCosts(belief, model, workload, runtime);
  const { program, alternatives, unit } = milpProgram(costs, { reclaim, output, headLayers });
  const solution = solver.solve(program);
  if (solution.status === 'infeasible') {
    const message = `${model.name} fits on no choice of devices of ${belief.name}: KV cache and buffers exceed their memory; use a shorter context, or free memory`;
    return noPlan('fits-nowhere', message);
  }
  if (solution.status === 'failed') {
    return noPlan('solver-failed', `${solution.reason}; give the solver more time, or use the scheduler "optimal"`);
  }
  const { values } = solution;
  const plan = readPlan(belief, alternatives, values, reclaim);
  const objective = unit * program.columns.reduce((sum, { cost }, index) => sum + cost * (values[index] as number), 0);
  const { tokenSeconds, infeasible } = createRingPredictor(belief, model, workload, problem)(plan);
  if (infeasible.length > 0 || Math.abs(objective - tokenSeconds) > AGREEMENT * tokenSeconds) {
    const claimed = `${tokenSeconds.toPrecision(6)} s per token where the program has ${objective.toPrecision(6)} s`;
    const found = `the plan of the integer program is predicted otherwise (${infeasible[0]?.reason ?? claimed})`;
    return noPlan('solver-failed', `${found}; report the problem as a defect`);
  }
  return { plan };
}

function readPlan(
  { devices }: Cluster,
  alternatives: readonly RoundsColumns[],
  values: Float64Array,
  reclaim: ReclaimPolicy,
): Plan {
  const valueIn = (column: number | undefined): number => (column === undefined ? 0 : (values[column] as number));
  const { rounds, windows, outputOnGpu } = alternatives.find(({ chosen }) => valueIn(chosen) === 1) as RoundsColumns;
  return ringPlan({
    scheduler: 'milp',
    head: devices[0]?.name ?? '',
    rounds,
    windows: devices.map(({ name }, index) => ({
      device: name,
      layers: valueIn(windows[index]?.layers),
      gpuLayers: valueIn(windows[index]?.gpuLayers),
    })),
    outputProcessor: valueIn(outputOnGpu) === 1 ? 'gpu' : 'cpu',
    prefetch: worthwhilePrefetch(reclaim),
  });
}
