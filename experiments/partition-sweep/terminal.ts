import { formatTable, type TableColumn, wrapText } from '../../engine/terminal/table.ts';
import type { Summary } from './summary.ts';
import {
  BEST_COLUMNS,
  bestCells,
  CHOICE_COLUMNS,
  choiceCells,
  extentText,
  failuresText,
  findingsText,
} from './text.ts';

/** Rows of the table of the best: the report has more. */
const BEST_ROWS = 5;

/** What a sweep found, for the terminal. */
export function partitionText(summary: Summary): string {
  const columns = (titles: typeof BEST_COLUMNS): TableColumn[] =>
    titles.map(({ title, align }, index) => ({
      title: title.replace(', ', ',\n').replace(/ (the best)/, '\n$1'),
      ...(align && { align }),
      ...(index === titles.length - 1 && { wraps: true }),
    }));
  const choices = formatTable(
    columns(CHOICE_COLUMNS),
    summary.choices.map((choice) => choiceCells(choice, summary)),
  );
  const best = formatTable(columns(BEST_COLUMNS), bestCells(summary.best.slice(0, BEST_ROWS)));
  const texts = [extentText(summary), failuresText(summary), findingsText(summary)].filter((text) => text !== '');
  return `${choices}\n${best}\n${texts.flatMap((text) => wrapText(text, 118)).join('\n')}\n`;
}
