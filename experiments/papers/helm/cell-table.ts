import { formatPercent } from '../../../engine/terminal/format.ts';
import { errorTone, tonesAt } from '../../lib/error-tone.ts';
import type { ReportColumn, TableBlock, Tone } from '../../lib/report.ts';
import { errorText } from '../text.ts';
import { errorOf, type HelmComparison, outcomeAgrees } from './rules.ts';
import { verdictOf } from './verdict.ts';

const HELM_COLUMNS: readonly ReportColumn[] = [
  { title: 'cell' },
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
];
const PREDICTED_ERROR = 7;
const SIMULATED_ERROR = 9;

/** Cells of one table of the thesis, of one system and metric or of all. */
export function helmCellTable(title: string, comparisons: readonly HelmComparison[], isOneColumn: boolean): TableBlock {
  return {
    kind: 'table',
    title,
    columns: HELM_COLUMNS.map((column, index) => (index === 0 ? { ...column, label: isOneColumn } : column)),
    rows: comparisons.map((one) => helmCellRow(one, isOneColumn)),
    tones: comparisons.map((one) =>
      tonesAt(HELM_COLUMNS.length, {
        [PREDICTED_ERROR]: toneOf(one, one.predicted),
        [SIMULATED_ERROR]: toneOf(one, one.simulated),
      }),
    ),
  };
}

/** Why systems don't run or aren't modelled here, and what is known against cells; folded. */
export function remarksTable(comparisons: readonly HelmComparison[]): TableBlock | undefined {
  const rows = comparisons.flatMap(({ cell, plan }) => {
    const why = plan !== undefined && plan.outcome !== 'runs' ? plan.why : '';
    const remark = [why, cell.note].filter(Boolean).join('; ');
    return remark === '' ? [] : [[`${cell.row}, ${cell.column}`, remark]];
  });
  if (rows.length === 0) return undefined;
  return {
    kind: 'table',
    fold: `${rows.length} remarks on these cells`,
    columns: [{ title: 'cell', label: true }, { title: 'remark' }],
    rows,
  };
}

function helmCellRow(one: HelmComparison, isOneColumn: boolean): string[] {
  const { cell, published, predicted, simulated, thesis, target, basis, range } = one;
  const value = (found: number | string | undefined): string => valueText(found, cell.unit);
  const deviation = (found: HelmComparison['predicted']): string => errorText('tpot', errorOf(found, published));
  return [
    isOneColumn ? cell.row : `${cell.row}, ${cell.column}`,
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
  return `${numberText(found)} ${unit}`;
}

/** Three digits, and whole numbers from 100 on. */
function numberText(value: number): string {
  if (value >= 100) return value.toFixed(0);
  return value >= 10 ? value.toFixed(1) : value.toFixed(2);
}
