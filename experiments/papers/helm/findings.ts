import { formatPercent } from '../../../engine/input/format.ts';
import { median } from '../../report/median.ts';
import { isTest } from '../comparison.ts';
import type { SummaryRow } from '../summary.ts';
import { errorText } from '../text.ts';
import { secondsOf } from './quantities.ts';
import type { HelmComparison } from './rules.ts';

/** The findings from the tables, in a few sentences; every number is computed from them. */
export function helmFindings(summary: readonly SummaryRow[], comparisons: readonly HelmComparison[]): string[] {
  const kept = summary.filter(({ met }) => met === true);
  const missed = summary.filter(({ met }) => met === false);
  const held = comparisons.filter((one) => isTest(one) && one.detail.thesis !== undefined);
  // In seconds: a throughput that is far too low would look like a smaller error.
  const middle = (found: (one: HelmComparison) => unknown): string =>
    formatPercent(median(held.map((one) => Math.abs(timeError(one, found(one))))));
  return [
    `Targets that are kept: ${kept.map(rowText).join('; ')}.`,
    ...(missed.length === 0 ? [] : [`Missed: ${missed.map(rowText).join('; ')}.`]),
    `Of the ${held.length} prints of HELM’s decoding that are held out, T_plan + N δ̄ with the thesis’s own numbers misses the seconds by a median of ${middle(({ detail }) => detail.thesis)}; with dispatch during the GPU’s work and the CPUs’ rates fitted, by ${middle(({ predicted }) => predicted)}.`,
  ];
}

function timeError({ published, cell, detail }: HelmComparison, found: unknown): number {
  if (typeof found !== 'number' || typeof published !== 'number') return Number.NaN;
  const seconds = (value: number): number => secondsOf(value, cell.unit, detail.quantity.batch);
  return seconds(found) / seconds(published) - 1;
}

function rowText({ what, table, target, worst, agreeing, note, met }: SummaryRow): string {
  const more = note === '' ? '' : `, ${note}`;
  if (agreeing !== undefined) return `${table}: ${what} (${agreeing.agree} of ${agreeing.of}${met ? '' : more})`;
  const aim = target === undefined ? '' : ` within ${formatPercent(target)}`;
  return `${what}${aim} (at worst ${errorText('', worst)}${more})`;
}
