import { predict } from '../../../engine/cost/predict.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { singleDevice } from '../../../engine/schedule/baselines/single-device.ts';
import { optimal } from '../../../engine/schedule/exact/optimal.ts';
import type { Scheduled, SchedulingProblem } from '../../../engine/schedule/scheduler.ts';
import { evenReloads } from './even-reloads.ts';

/**
 * prima.cpp's choice: the exact optimum of its objective, in which the head's CPU runs the output layer ("in our
 * implementation", after Eq. 12), the even one where several plans are optimal (evenReloads); or llama.cpp on the head
 * alone, to which it reduces where all other devices are removed (4.1), and which puts the output layer on its GPU where
 * there is room.
 */
export function ringOrAlone(problem: SchedulingProblem): Scheduled {
  const ring = optimal(problem, { output: 'cpu' });
  const alone = singleDevice(problem);
  if (ring.plan === undefined || alone.plan === undefined) return ring.plan === undefined ? alone : ring;
  const secondsOf = (plan: Plan): number => predict({ ...problem, plan, truth: problem.belief }).tokenSeconds;
  return secondsOf(alone.plan) <= secondsOf(ring.plan) ? alone : { plan: evenReloads(problem, ring.plan) };
}
