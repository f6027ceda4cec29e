import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { type LeftOutTable, leftOutTables } from './left-out.ts';
import { PROTOCOL, primaProblem } from './prima-problem.ts';
import { type Problem, shown, type Unknown } from './problem.ts';
import { UNKNOWN_TESTBEDS } from './testbeds.ts';

/** Time limit of one integer program, seconds. */
const SOLVER_SECONDS = 20;

/** Number of steps that primaLeftOut reports. */
export const LEFT_OUT_STEPS = UNKNOWN_TESTBEDS.length;

/**
 * The problem with the unknowns that the whole search moves: the others stay at their priors. experiments/consistency.ts
 * leaves tables out with all of them, with the same values.
 */
function movedOnly(problem: Problem): Problem {
  const moved = ({ name, prior }: Unknown): boolean => shown(problem.used[name] ?? prior) !== shown(prior);
  return { ...problem, unknowns: problem.unknowns.map((one) => (moved(one) ? one : { ...one, values: [one.prior] })) };
}

/** Every table of prima.cpp's testbeds, judged with values that were chosen without it, by the protocol. */
export async function primaLeftOut(step: (label: string) => void): Promise<LeftOutTable[]> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  try {
    return UNKNOWN_TESTBEDS.flatMap((testbed) => {
      step(`${testbed.cluster}: values chosen without a table`);
      return leftOutTables(movedOnly(primaProblem(testbed, PROTOCOL.planner, solver, PROTOCOL.tolerance)));
    });
  } finally {
    solver.dispose();
  }
}
