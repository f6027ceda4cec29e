import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import type { Evaluate } from '../sweep/sweep.ts';
import { type GapSettings, gapOf } from './gap.ts';

/** Time limit of one integer program, seconds. */
const SOLVER_SECONDS = 10;

/** A point is a random cluster: its rows, one by scheduler. */
export default async function createEvaluate(settings: unknown): Promise<Evaluate> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  return (point) => gapOf(point, settings as GapSettings, solver);
}
