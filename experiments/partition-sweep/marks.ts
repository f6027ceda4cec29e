import type { Data } from 'plotly.js-dist-min';
import { enumerate, formatSeconds } from '../../engine/input/format.ts';
import { planShares } from '../../engine/plan/plan.ts';
import { layersText } from '../../engine/plan/plan-text.ts';
import { SURFACE } from '../report/charts/colours.ts';
import { markOf, type SchedulerMark } from '../report/charts/scheduler-marks.ts';
import type { Choice, JudgedChoice } from './choices.ts';
import { type PolicyName, policyOf } from './policies.ts';

/** The policy shown for a plan whose devices have different weights policies. */
export const MIXED = 'mixed';

/** A plan that schedulers chose, as charts mark it: schedulers with the same plan share one mark. */
export interface Mark extends SchedulerMark {
  readonly name: string;
  readonly rounds: number;
  readonly policy: PolicyName | typeof MIXED;
  readonly seconds: number;
  readonly predicted: number;
  /** Layers over all rounds, by device. */
  readonly layers: ReadonlyMap<string, number>;
  readonly hover: string;
}

/** The marks of all choices that can be run. */
export function marksOf(choices: readonly Choice[]): Mark[] {
  const alike = new Map<string, JudgedChoice[]>();
  for (const choice of choices) {
    if (choice.status !== 'judged') continue;
    const key = JSON.stringify({ ...choice.plan, scheduler: '' });
    alike.set(key, [...(alike.get(key) ?? []), choice]);
  }
  return [...alike.values()].map((same) => {
    const [{ plan, seconds, predicted, scheduler }] = same as [JudgedChoice, ...JudgedChoice[]];
    return {
      name: enumerate(same.map(({ scheduler }) => scheduler)),
      ...markOf(scheduler),
      rounds: plan.rounds,
      policy: policyOf(plan) ?? MIXED,
      seconds,
      predicted,
      layers: new Map(planShares(plan).map(({ device, cpuLayers, gpuLayers }) => [device, cpuLayers + gpuLayers])),
      hover: `${formatSeconds(seconds)}<br>k = ${plan.rounds}<br>${layersText(plan)}`,
    };
  });
}

/** A mark with a white rim, which sets it off from what lies below it. */
export function outlined(trace: Data): Data {
  const marker = 'marker' in trace ? trace.marker : undefined;
  return { ...trace, marker: { ...marker, line: { color: SURFACE, width: 1.5 } } } as Data;
}

/** From viridis, to differ from the colours of schedulers; its light end is darkened to be visible on white. */
export const POLICY_COLOURS: Readonly<Record<PolicyName, string>> = {
  none: '#440154',
  willneed: '#3b528b',
  populate: '#21918c',
  drop: '#5ec962',
  pinned: '#c8b100',
};
