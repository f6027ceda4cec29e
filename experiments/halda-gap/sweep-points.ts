import { z } from 'zod';
import { MEMORY_REGIMES, type MemoryRegime } from '../../datasets/random-cluster.ts';
import { loadIntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULER_NAMES } from '../../engine/schedule/registry.ts';
import { type Evaluate, RESULT_TEXT } from '../sweep/sweep.ts';
import { type GapSettings, gapOf } from './gap.ts';

/** Time limit of one integer program, seconds. */
const SOLVER_SECONDS = 10;

export const RESULT = z.array(
  z.strictObject({
    seed: z.int(),
    devices: z.int().positive(),
    regime: z.enum(Object.keys(MEMORY_REGIMES) as MemoryRegime[]),
    model: RESULT_TEXT,
    scheduler: z.enum(SCHEDULER_NAMES),
    optimum: z.number().positive(),
    paperOptimum: z.number().positive().nullable(),
    seconds: z.number().positive().optional(),
    reason: RESULT_TEXT,
  }),
);

/** A point is a random cluster: its rows, one by scheduler. */
export default async function createEvaluate(settings: unknown): Promise<Evaluate> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  return (point) => gapOf(point, settings as GapSettings, solver);
}
