import { formatDeviation, formatPercent, formatSeconds, threeDigits } from '../../engine/terminal/format.ts';
import type { ReportColumn } from '../lib/report.ts';
import { layersText } from '../report/plan-text.ts';
import type { Choice, JudgedChoice } from './choices.ts';
import { MIXED } from './marks.ts';
import { policyOf } from './policies.ts';
import type { RankedPlan, Summary } from './summary.ts';

/** `26,272` */
export function thousands(count: number): string {
  return count.toLocaleString('en-US');
}

/** What was swept: all plans, or a sample. */
export function extentText({ space, wanted, simulated, settings }: Summary): string {
  const drawn =
    wanted === space
      ? `all ${thousands(space)} plans`
      : `${thousands(wanted)} plans drawn at random (seed ${settings.seed}) out of ${thousands(space)}`;
  return simulated === wanted ? drawn : `the first ${thousands(simulated)} of ${drawn}; the sweep was stopped`;
}

/** What was found: the best plan, the schedulers' distance from it, and how closed forms and simulation agree. */
export function findingsText(summary: Summary): string {
  const [best] = summary.best;
  if (best === undefined) return `None of the ${thousands(summary.simulated)} plans can be run.`;
  const sampled = summary.simulated < summary.space ? ' (of a sample: there may be faster ones)' : '';
  const judged = summary.choices.filter((choice) => choice.status === 'judged');
  const parts = judged
    .sort((one, other) => one.seconds - other.seconds)
    .map((choice) => `${choice.scheduler} ${formatDeviation(choice.ratio)}${rankText(choice.faster, summary)}`);
  const chosen = parts.length === 0 ? 'No scheduler has a plan that can be run.' : `Against it: ${parts.join('; ')}.`;
  return [
    `The fastest plan takes ${formatSeconds(best.seconds)} per token: k = ${best.rounds}, ${best.policy}, ${best.layers}, output on ${best.output.toUpperCase()}${sampled}.`,
    chosen,
    policyText(judged, best.seconds),
    `Closed forms and simulation order the plans alike with a rank correlation of ${threeDigits(summary.agreement)}.`,
  ]
    .filter((part) => part !== '')
    .join(' ');
}

/** ` (12 % of the plans are faster)` */
function rankText(faster: number, { runnable }: Summary): string {
  return faster === 0 ? '' : ` (${formatPercent(faster / runnable)} of the plans are faster)`;
}

/** Another policy is worth a sentence if it takes less than this share of the time. */
const WORTHWHILE = 0.95;

/** What the weights policy alone would gain, for the fastest of the plans for which it would. */
function policyText(judged: readonly JudgedChoice[], best: number): string {
  const gains = judged.flatMap(({ scheduler, seconds, bestPolicy }) =>
    bestPolicy !== undefined && bestPolicy.seconds < WORTHWHILE * seconds ? [{ scheduler, ...bestPolicy }] : [],
  );
  const [first] = gains;
  if (first === undefined) return '';
  return `Under the policy ${first.policy}, the layers of ${first.scheduler} would take ${formatSeconds(first.seconds)} (${formatDeviation(first.seconds / best)}).`;
}

export const CHOICE_COLUMNS: readonly ReportColumn[] = [
  { title: 'scheduler', label: true },
  { title: 'TPOT, simulated', align: 'right' },
  { title: 'above the best found', align: 'right' },
  { title: 'faster plans', align: 'right' },
  { title: 'TPOT, predicted', align: 'right' },
  { title: 'k', align: 'right' },
  { title: 'output', label: true },
  { title: 'policy', label: true },
  { title: 'under the best policy', align: 'right' },
  { title: 'layers: CPU+GPU' },
];

export function choiceCells(choice: Choice, summary: Summary): string[] {
  const { scheduler, status } = choice;
  if (status === 'none') return [scheduler, '–', '', '', '', '', '', '', '', choice.message];
  const { plan } = choice;
  const how = [String(plan.rounds), plan.output.processor, policyOf(plan) ?? MIXED];
  const layers = layersText(plan);
  if (status === 'unrunnable') return [scheduler, '–', '', '', '', ...how, '', `${layers}: ${choice.message}`];
  const { seconds, ratio, faster, predicted, bestPolicy } = choice;
  return [
    scheduler,
    formatSeconds(seconds),
    formatDeviation(ratio),
    `${thousands(faster)} (${formatPercent(faster / summary.runnable)})`,
    formatSeconds(predicted),
    ...how,
    bestPolicy === undefined || bestPolicy.seconds >= seconds
      ? 'its own'
      : `${formatSeconds(bestPolicy.seconds)} ${bestPolicy.policy}`,
    layers,
  ];
}

export const BEST_COLUMNS: readonly ReportColumn[] = [
  { title: 'rank', align: 'right' },
  { title: 'plan', align: 'right' },
  { title: 'TPOT, simulated', align: 'right' },
  { title: 'TPOT, predicted', align: 'right' },
  { title: 'k', align: 'right' },
  { title: 'output', label: true },
  { title: 'policy', label: true },
  { title: 'layers: CPU+GPU' },
];

export function bestCells(best: readonly RankedPlan[]): string[][] {
  return best.map((point, index) => [
    String(index + 1),
    String(point.plan),
    formatSeconds(point.seconds),
    formatSeconds(point.predicted),
    String(point.rounds),
    point.output,
    point.policy,
    point.layers,
  ]);
}

/** How many plans can't be run and why, with an example of each kind; empty where all can. */
export function failuresText({ failures, simulated, runnable }: Summary): string {
  if (simulated === runnable) return '';
  const kinds = Object.values(failures).map(
    ({ count, plan, reason }) => `${thousands(count)} as plan ${plan}: ${reason}`,
  );
  return `${thousands(simulated - runnable)} of the plans can't be run: ${kinds.join('; ')}.`;
}
