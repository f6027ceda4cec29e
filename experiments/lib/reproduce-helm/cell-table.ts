import { formatPercent } from '../../../engine/terminal/format.ts';
import { errorTone, tonesAt } from '../error-tone.ts';
import type { ReportColumn, TableBlock, Tone } from '../report.ts';
import { errorText } from '../reproduce/names.ts';
import { errorOf, type HelmComparison, outcomeAgrees } from './comparisons.ts';
import { helmSystemName } from './groups.ts';
import { verdictOf } from './verdict.ts';

export const HELM_COLUMNS: readonly ReportColumn[] = [
  { title: 'cell' },
  { title: 'system', label: true },
  { title: 'use', label: true },
  { title: 'published', align: 'right' },
  { title: 'printed from … to', align: 'right' },
  { title: 'T_plan + N δ̄', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'predicted', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'simulated', align: 'right' },
  { title: 'error', align: 'right' },
  { title: 'target', align: 'right' },
  { title: 'verdict', label: true },
  { title: 'note' },
];
const PREDICTED_ERROR = 8;
const SIMULATED_ERROR = 10;

/** The cells of one table of the thesis. */
export function helmCellTable(title: string, comparisons: readonly HelmComparison[]): TableBlock {
  return {
    kind: 'table',
    title,
    columns: HELM_COLUMNS,
    rows: comparisons.map(helmCellRow),
    tones: comparisons.map((one) =>
      tonesAt(HELM_COLUMNS.length, {
        [PREDICTED_ERROR]: toneOf(one, one.predicted),
        [SIMULATED_ERROR]: toneOf(one, one.simulated),
      }),
    ),
  };
}

function helmCellRow(one: HelmComparison): string[] {
  const { cell, quantity, published, predicted, simulated, thesis, target, basis, plan, range } = one;
  const value = (found: number | string | undefined): string => valueText(found, cell.unit);
  const deviation = (found: HelmComparison['predicted']): string => errorText('tpot', errorOf(found, published));
  return [
    `${cell.row}: ${cell.column}`,
    helmSystemName(quantity.system),
    basis === 'fit' ? 'fit' : 'held out',
    value(published),
    range === undefined || isNarrow(range) ? '' : range.map(numberText).join(' … '),
    value(thesis),
    deviation(thesis),
    predicted === undefined ? 'not modelled' : value(predicted),
    deviation(predicted),
    value(simulated),
    deviation(simulated),
    target === undefined ? '' : `±${formatPercent(target.limit)}`,
    verdictText(one),
    [plan !== undefined && plan.outcome !== 'runs' ? plan.why : '', cell.note].filter(Boolean).join('; '),
  ];
}

function verdictText(one: HelmComparison): string {
  const verdict = one.basis === 'fit' ? undefined : verdictOf(one);
  if (verdict !== undefined) return verdict;
  if (typeof one.published === 'number' && typeof one.predicted === 'number') return '';
  const agrees = outcomeAgrees(one);
  return agrees === undefined ? '' : agrees ? 'agrees' : 'disagrees';
}

/** Fitted cells prove nothing. */
function toneOf(one: HelmComparison, found: HelmComparison['predicted']): Tone | undefined {
  if (one.basis === 'fit') return undefined;
  const error = errorOf(found, one.published);
  if (error === undefined) return outcomeAgrees(one) === false ? 'bad' : undefined;
  return verdictOf(one) === 'within noise' ? 'good' : errorTone(error, one.target?.limit);
}

/** Prints that differ by rounding alone have no range worth showing. */
function isNarrow([least, most]: readonly [number, number]): boolean {
  return most / least < 1.03;
}

function valueText(found: number | string | undefined, unit: string): string {
  if (found === undefined) return '';
  if (typeof found === 'string') return found === 'failed' ? '×' : found;
  return `${numberText(found)}\u00a0${unit}`;
}

/** Three digits, and whole numbers from 100 on. */
function numberText(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
