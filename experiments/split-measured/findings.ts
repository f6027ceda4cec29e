import { formatPercent, formatSeconds } from '../../engine/input/format.ts';
import { median } from '../report/median.ts';
import { errorLine, type PageTop } from '../report/page-top.ts';
import type { SplitsRun } from './run.ts';
import { ANSWERS, type Answer, deviation, PHASES, type Phase, type SplitAnswers } from './splits.ts';

/** Errors that are aimed at, over all splits. */
export const AIMS = { median: 0.1, worst: 0.25 } as const;

/** How near the answers come, and what the choice by prediction costs. */
export function splitFindings({ splits }: SplitsRun): string[] {
  return [accuracy(splits, 'tpot', 'Decode (TPOT)'), accuracy(splits, 'ttft', 'Prefill (TTFT)'), choice(splits)];
}

/** Findings: the cost of choosing by prediction, and how near the answers come in both phases. */
export function splitTop({ splits }: SplitsRun): PageTop {
  const errors = (answer: Answer, phase: Phase): number[] =>
    splits.map((split) => Math.abs(deviation(split, answer, phase)));
  return {
    headline: choice(splits),
    findings: PHASES.map((phase) =>
      errorLine({
        what: phase === 'tpot' ? 'tokens' : 'prompts',
        predicted: errors('predicted', phase),
        simulated: errors('simulated', phase),
        aim: AIMS.median,
      }),
    ),
  };
}

function accuracy(splits: readonly SplitAnswers[], phase: Phase, name: string): string {
  const errors = ANSWERS.map((answer) => {
    const found = splits.map((split) => Math.abs(deviation(split, answer, phase)));
    return `${answer} within ${formatPercent(median(found))} in the median, ${formatPercent(Math.max(...found))} at worst`;
  });
  const spread = median(splits.map(({ measured }) => measured[phase].spread));
  return `${name}, ${splits.length} splits: ${errors.join('; ')}. Repeats spread by ± ${formatPercent(spread)}; the aim is ${formatPercent(AIMS.median)} and ${formatPercent(AIMS.worst)}.`;
}

function choice(splits: readonly SplitAnswers[]): string {
  const chosen = splits.find((split) => split.chosen.tpot);
  if (chosen === undefined) return 'No split fits this machine by its profile.';
  const best = splits.reduce((least, one) => (one.measured.tpot.median < least.measured.tpot.median ? one : least));
  const took = `The split chosen by prediction, k* = ${chosen.cpuUnits}, takes ${formatSeconds(chosen.measured.tpot.median)} per token`;
  if (best === chosen) return `${took}, and is the quickest measured.`;
  const lost = chosen.measured.tpot.median / best.measured.tpot.median - 1;
  return `${took}; the quickest measured, k = ${best.cpuUnits}, takes ${formatSeconds(best.measured.tpot.median)}, ${formatPercent(lost)} less than the choice.`;
}
