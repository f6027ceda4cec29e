import { chipCase, predictChip } from '../../engine/cost/chip/predict-chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { ChipPlan } from '../../engine/plan/plan.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { PhaseTimes } from './cuts.ts';

export const PHASES = ['prefill', 'decode'] as const;
export type Phase = (typeof PHASES)[number];

/** Seconds of a prompt, or of a token after it. */
export interface PhaseAnswers {
  readonly predicted: number;
  readonly simulated: number;
}

export interface AnswersCase {
  readonly plan: ChipPlan;
  readonly machine: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly times: PhaseTimes;
}

/** Predicts and simulates a plan with the times of its parts. */
export function answersOf({
  plan,
  machine,
  model,
  workload,
  times,
}: AnswersCase): Readonly<Record<Phase, PhaseAnswers>> {
  const { promptTokens, outputTokens } = workload;
  const of = (phase: Phase): PhaseAnswers => {
    const own = times[phase];
    const chip = { ...chipCase(plan, machine, model), times: own };
    const run = metrics(simulate({ cluster: machine, model, plan, workload, times: own }).trace);
    return {
      predicted: predictChip(chip, promptTokens + outputTokens / 2)[phase].seconds,
      simulated: (phase === 'prefill' ? run.firstTokenSeconds : run.tokenSeconds) ?? Number.NaN,
    };
  };
  return { prefill: of('prefill'), decode: of('decode') };
}
