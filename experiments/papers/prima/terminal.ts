import { formatPercent } from '../../../engine/terminal/format.ts';
import { formatTable } from '../../../engine/terminal/table.ts';
import type { Accuracy } from '../accuracy.ts';
import { errorText, METRIC_NAMES, medianText, systemName } from '../text.ts';
import { type Errors, isMet, type Summary } from './summaries.ts';

/** Medians and worst errors, one line per table, system, policy and metric. */
export function summaryTable(summaries: readonly Summary[]): string {
  return formatTable(
    [
      { title: 'table' },
      { title: 'system', wraps: true },
      { title: 'policy', wraps: true },
      { title: 'cells', align: 'right' },
      { title: 'predicted\nmedian (worst)', align: 'right' },
      { title: 'simulated\nmedian (worst)', align: 'right' },
      { title: 'OOM', align: 'right' },
      { title: 'target', align: 'right' },
      { title: 'met' },
    ],
    summaryRows(summaries),
  );
}

/** The rows of that table, for the terminal and the report: cells held out, then those that constants may be fitted to. */
export function summaryRows(summaries: readonly Summary[]): string[][] {
  return summaries.flatMap((summary) => {
    const { table, heldOut, fit, target, policy, metric, outcomes } = summary;
    const name = systemName(summary.system);
    const system = metric === 'tpot' ? name : `${name}, ${METRIC_NAMES[metric]}`;
    const oom = policy === undefined || outcomes.cells === 0 ? '' : `${outcomes.agree}/${outcomes.cells}`;
    const aim = target === undefined ? '' : formatPercent(target.limit);
    const shown = policy ?? 'not modelled';
    const noFit = fit.predicted === undefined && fit.simulated === undefined;
    return [
      [table, scope(system, summary), shown, ...errorCells(metric, heldOut), oom, aim, verdict(summary)],
      ...(noFit ? [] : [[table, `${system}, fit cells`, shown, ...errorCells(metric, fit), '', '', '']]),
    ];
  });
}

function errorCells(metric: string, { predicted, simulated }: Errors): string[] {
  const count = (predicted ?? simulated)?.cells ?? 0;
  return [count === 0 ? '' : String(count), accuracyText(metric, predicted), accuracyText(metric, simulated)];
}

/** Which models of the column a line is about, where it isn't all. */
function scope(system: string, { target, models }: Summary): string {
  if (target?.models !== undefined) return `${system}, ${sizes(target.models)}`;
  return models.length === 1 && models[0] !== undefined ? `${system}, ${sizes(models)}` : system;
}

/** `Llama-3-70B` is `70B`; a run of them its ends. */
function sizes(models: readonly string[]): string {
  const short = models.map((model) => model.split('-').at(-1) ?? model);
  const [first = '', last = ''] = [short[0], short.at(-1)];
  return short.length === 1 ? first : `${first}–${last}`;
}

/** `4.1 % (−8.4 %)`: median, and the error that is largest. */
function accuracyText(metric: string, accuracy: Accuracy | undefined): string {
  if (accuracy === undefined) return '';
  return `${medianText(metric, accuracy.median)} (${errorText(metric, accuracy.worst)})`;
}

/** `yes, predicted`: whether the target is met, and by which of the two it is claimed. */
function verdict(summary: Summary): string {
  const met = isMet(summary);
  return met === undefined ? '' : `${met ? 'yes' : 'no'}, ${summary.answer}`;
}
