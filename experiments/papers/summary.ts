import { formatPercent } from '../../engine/terminal/format.ts';
import type { ReportColumn, TableBlock } from '../lib/report.ts';
import type { SummaryRow } from './comparison.ts';
import { errorText, medianText } from './text.ts';

export const SUMMARY_COLUMNS: readonly ReportColumn[] = [
  { title: 'table' },
  { title: 'cells of' },
  { title: 'held out', align: 'right' },
  { title: 'fitted', align: 'right' },
  { title: 'median', align: 'right' },
  { title: 'worst', align: 'right' },
  { title: 'answer', label: true },
  { title: 'target', align: 'right' },
  { title: 'verdict', label: true },
  { title: 'note' },
];
const VERDICT = 8;

/** A line per group of cells. */
export function summaryTableBlock(rows: readonly SummaryRow[], title?: string): TableBlock {
  return {
    kind: 'table',
    ...(title !== undefined && { title }),
    columns: SUMMARY_COLUMNS,
    rows: rows.map(summaryCells),
    tones: rows.map(({ met }) =>
      SUMMARY_COLUMNS.map((_, index) => (index !== VERDICT || met === undefined ? undefined : met ? 'good' : 'bad')),
    ),
    groups: true,
  };
}

/** The cells of a line, below SUMMARY_COLUMNS. */
export function summaryCells(row: SummaryRow): string[] {
  const { agreeing, median, worst, points = false } = row;
  const metric = points ? 'memory-pressure' : 'tpot';
  return [
    row.table,
    row.what,
    count(row.heldOut),
    count(row.fit),
    agreeing === undefined
      ? median === undefined
        ? ''
        : medianText(metric, median)
      : `${agreeing.agree} of ${agreeing.of}`,
    errorText(metric, worst),
    row.answer,
    row.target === undefined ? '' : `±${formatPercent(row.target)}`,
    row.met === undefined ? '' : row.met ? 'kept' : 'missed',
    row.note,
  ];
}

const count = (cells: number): string => (cells === 0 ? '' : String(cells));
