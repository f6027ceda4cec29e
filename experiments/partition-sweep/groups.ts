import type { Landscape } from './landscape.ts';
import type { PolicyName } from './policies.ts';
import { rankCorrelation } from './rank-correlation.ts';
import type { Space } from './space.ts';

/** The plans of one number of rounds and one policy. */
export interface Group {
  readonly rounds: number;
  readonly policy: PolicyName;
  readonly plans: number;
  /** Simulated seconds of those that can be run, ascending. */
  readonly seconds: readonly number[];
  /** Rank correlation of predicted and simulated seconds. */
  readonly agreement: number;
}

/** The landscape by rounds and policy, in the order of the space. */
export function groupLandscape({ plans, seconds, predicted }: Landscape, space: Space): Group[] {
  const groups = new Map<
    string,
    { rounds: number; policy: PolicyName; plans: number; seconds: number[]; predicted: number[] }
  >();
  plans.forEach((plan, index) => {
    const { rounds, policy } = space.at(plan);
    const key = `${rounds} ${policy}`;
    const group = groups.get(key) ?? { rounds, policy, plans: 0, seconds: [], predicted: [] };
    groups.set(key, group);
    group.plans += 1;
    if (Number.isNaN(seconds[index])) return;
    group.seconds.push(seconds[index] as number);
    group.predicted.push(predicted[index] as number);
  });
  return [...groups.values()].map(({ predicted, ...group }) => ({
    ...group,
    agreement: rankCorrelation(predicted, group.seconds),
    seconds: group.seconds.toSorted((a, b) => a - b),
  }));
}
