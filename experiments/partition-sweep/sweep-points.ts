import { z } from 'zod';
import { type Evaluate, RESULT_TEXT } from '../sweep/sweep.ts';
import { sampleNumbers } from './space.ts';
import { createSweeper, type Drawn, type SweepSetting } from './sweeper.ts';

/** The points of a sweep of plans: a setting of the space, and which of its plans are drawn. */
export type PlanPoints = Drawn & { readonly setting: SweepSetting };

const PLAN = z.int().nonnegative();
export const RESULT = z.union([
  z.strictObject({ plan: PLAN, seconds: z.number().positive(), predicted: z.number().positive().nullish() }),
  z.strictObject({ plan: PLAN, failed: RESULT_TEXT }),
]);

export default function createEvaluate(points: unknown): Evaluate {
  const { setting, mostPlans, seed } = points as PlanPoints;
  const sweeper = createSweeper(setting);
  const numbers = sampleNumbers(sweeper.space.size, mostPlans, seed);
  return (point) => {
    const plan = numbers[point] as number;
    return { plan, ...sweeper.judge(sweeper.plan(plan)) };
  };
}
