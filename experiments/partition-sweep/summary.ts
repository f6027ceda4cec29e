import type { RingCosts } from '../../engine/cost/ring-costs.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import type { Check } from './check.ts';
import type { Choice } from './choices.ts';
import type { Failures, Group, Landscape } from './landscape.ts';
import { rankCorrelation } from './landscape.ts';
import { pointPlan, type Space, type SpacePoint } from './space.ts';
import type { Fingerprint } from './sweeper.ts';

/** A plan of the space with its rank. */
export interface RankedPlan extends SpacePoint {
  readonly plan: number;
  readonly seconds: number;
  readonly predicted: number;
  /** `D3 24+16, D2 40`: layers on CPU and GPU by device. */
  readonly layers: string;
}

/** The results of a sweep. */
export interface Summary {
  readonly settings: Fingerprint;
  /** Numbers of plans: in the space, to be simulated, simulated, and simulated ones that can be run. */
  readonly space: number;
  readonly wanted: number;
  readonly simulated: number;
  readonly runnable: number;
  readonly failures: Readonly<Record<string, Failures>>;
  /** The fastest plans first. */
  readonly best: readonly RankedPlan[];
  readonly choices: readonly Choice[];
  readonly groups: readonly Group[];
  /** Rank correlation of predicted and simulated TPOT over all plans that can be run. */
  readonly agreement: number;
  readonly check: Check;
}

/** Plans in the table of the best. */
const BEST = 20;

export interface SummaryParts {
  readonly settings: Fingerprint;
  readonly space: Space;
  readonly costs: RingCosts;
  readonly wanted: number;
  readonly landscape: Landscape;
  readonly groups: readonly Group[];
  readonly choices: readonly Choice[];
  readonly check: Check;
}

export function summarise({
  settings,
  space,
  costs,
  wanted,
  landscape,
  groups,
  choices,
  check,
}: SummaryParts): Summary {
  const { ranking, seconds, predicted, plans, failures } = landscape;
  const ranked = (values: Float64Array): Float64Array => Float64Array.from(ranking, (at) => values[at] as number);
  return {
    settings,
    space: space.size,
    wanted,
    simulated: plans.length,
    runnable: ranking.length,
    failures: Object.fromEntries(failures),
    best: Array.from(ranking.subarray(0, BEST), (at) => {
      const plan = plans[at] as number;
      const point = space.at(plan);
      const layers = layersText(pointPlan(costs, point));
      return { plan, ...point, seconds: seconds[at] as number, predicted: predicted[at] as number, layers };
    }),
    choices,
    groups,
    agreement: rankCorrelation(ranked(predicted), ranked(seconds)),
    check,
  };
}

/**
 * The summary as written to summary.json: each group has its size and its least and most seconds instead of all
 * seconds.
 */
export function summaryData({ groups, ...summary }: Summary) {
  const shortened = groups.map(({ seconds, ...group }) => ({
    ...group,
    runnable: seconds.length,
    least: seconds[0],
    most: seconds.at(-1),
  }));
  return { ...summary, groups: shortened };
}
