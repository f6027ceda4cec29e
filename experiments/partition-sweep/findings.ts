import { formatDeviation, formatPercent, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import type { Check } from './check.ts';
import type { JudgedChoice } from './choices.ts';
import type { Summary } from './summary.ts';

/** `26,272` */
export function thousands(count: number): string {
  return count.toLocaleString('en-US');
}

/** The extent of the sweep: all plans, or a sample. */
export function extentText({ space, wanted, simulated, settings }: Summary): string {
  const drawn =
    wanted === space
      ? `all ${thousands(space)} plans`
      : `${thousands(wanted)} plans drawn at random (seed ${settings.seed}) out of ${thousands(space)}`;
  return simulated === wanted ? drawn : `the first ${thousands(simulated)} of ${drawn}; the sweep was stopped`;
}

/** The findings: the best plan, the schedulers' distance from it, and the agreement of closed forms and simulation. */
export function findingsOf(summary: Summary): string[] {
  const [best] = summary.best;
  if (best === undefined) return [`None of the ${thousands(summary.simulated)} plans can be run.`];
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
    checkText(summary.check),
  ].filter((part) => part !== '');
}

/** A difference below this share is rounding. */
const ROUNDING = 1e-9;

function checkText({ plans, worst }: Check): string {
  const difference = worst < ROUNDING ? 'by rounding only' : `by ${formatPercent(worst)} at most`;
  return `${plans} of the plans, drawn at random and simulated as a whole, differ ${difference} from the sweep, which simulates device by device.`;
}

/** ` (12 % of the plans are faster)` */
function rankText(faster: number, { runnable }: Summary): string {
  return faster === 0 ? '' : ` (${formatPercent(faster / runnable)} of the plans are faster)`;
}

/** Another policy is mentioned if it takes less than this share of the time. */
const WORTHWHILE = 0.95;

/** The gain from another weights policy alone, for the fastest plan that would gain. */
function policyText(judged: readonly JudgedChoice[], best: number): string {
  const gains = judged.flatMap(({ scheduler, seconds, bestPolicy }) =>
    bestPolicy !== undefined && bestPolicy.seconds < WORTHWHILE * seconds ? [{ scheduler, ...bestPolicy }] : [],
  );
  const [first] = gains;
  if (first === undefined) return '';
  return `Under the policy ${first.policy}, the layers of ${first.scheduler} would take ${formatSeconds(first.seconds)} (${formatDeviation(first.seconds / best)}).`;
}

/** Number of plans that can't be run and why, with an example of each kind; empty if all can. */
export function failuresText({ failures, simulated, runnable }: Summary): string {
  if (simulated === runnable) return '';
  const kinds = Object.values(failures).map(
    ({ count, plan, reason }) => `${thousands(count)} as plan ${plan}: ${reason}`,
  );
  return `${thousands(simulated - runnable)} of the plans can’t be run: ${kinds.join('; ')}.`;
}
