import { formatPercent } from '../../engine/terminal/format.ts';
import type { SummaryRow } from './comparison.ts';
import { PAPER_TITLES } from './paper-titles.ts';
import { errorText, medianText } from './text.ts';

/** summary.md: the summary as a table for a README. */
export function summaryMarkdown(rows: readonly SummaryRow[]): string {
  const header = ['paper', 'table', 'cells of', 'held out', 'median error', 'worst', 'target', 'kept'];
  const lines = rows.map((row) => {
    const metric = row.points === true ? 'memory-pressure' : 'tpot';
    const agree = row.agreeing && `${row.agreeing.agree} of ${row.agreeing.of} agree`;
    return [
      PAPER_TITLES[row.paper],
      row.table.replace(/^Tables? /, ''),
      row.what,
      row.agreeing ? String(row.agreeing.of) : String(row.heldOut),
      agree ?? (row.median === undefined ? '–' : medianText(metric, row.median)),
      errorText(metric, row.worst),
      row.target === undefined ? '' : `±${formatPercent(row.target)}`,
      row.met === undefined ? '' : row.met ? 'yes' : 'no',
    ];
  });
  return [header, header.map((_, index) => (index < 3 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}
