import type { Plan } from '../../engine/plan/plan.ts';
import type { Landscape } from './landscape.ts';
import { sampleNumbers } from './space.ts';

/** Plans of a sweep that were simulated as a whole as well. */
export interface Check {
  readonly plans: number;
  /** By how much the sweep's TPOT differs from that at most, as a share of it; 0 without plans. */
  readonly worst: number;
}

/** Plans that are drawn: a second or less. */
const DRAWN = 32;

export interface CheckParts {
  readonly landscape: Landscape;
  readonly plan: (number: number) => Plan;
  /** TPOT of a plan that is simulated as a whole, seconds, or why it can't be run. */
  readonly simulate: (plan: Plan) => number | string;
  readonly seed: number;
}

/** Compares a sweep with whole simulations of plans that are drawn at random from those that can be run. */
export function checkSweep({ landscape, plan, simulate, seed }: CheckParts): Check {
  const { plans, seconds, ranking } = landscape;
  const drawn = sampleNumbers(ranking.length, DRAWN, seed);
  const differences = Array.from(drawn, (rank) => {
    const at = ranking[rank] as number;
    const whole = simulate(plan(plans[at] as number));
    return typeof whole === 'string' ? Number.POSITIVE_INFINITY : Math.abs((seconds[at] as number) / whole - 1);
  });
  return { plans: drawn.length, worst: Math.max(0, ...differences) };
}
