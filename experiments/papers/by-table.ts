import { type Accuracy, accuracyOf } from './accuracy.ts';
import { type Answer, type Comparison, inPoints, isTest, type PaperName } from './comparison.ts';
import type { CoveredCell } from './coverage.ts';
import { PAPER_TITLES } from './summary.ts';
import { errorText, medianText } from './text.ts';

/** A table, figure or section of a paper, with the results that it prints. */
interface PrintedTable {
  readonly paper: PaperName;
  readonly table: string;
  /** Results: numbers that are compared, and those that nothing here predicts. */
  readonly results: readonly CoveredCell[];
  /** One for each compared cell, by the main reading of its system. */
  readonly comparisons: readonly Comparison[];
}

/** Every table, figure and section in which a result is printed, paper by paper. */
function printedTables(
  covered: Readonly<Record<PaperName, readonly CoveredCell[]>>,
  comparisons: readonly Comparison[],
): PrintedTable[] {
  return (Object.keys(covered) as PaperName[]).flatMap((paper) => {
    const isResult = ({ status }: CoveredCell): boolean => status === 'compared' || status === 'not modelled';
    const results = covered[paper].filter(isResult);
    return [...new Set(results.map(({ cell }) => cell.table))].map((table): PrintedTable => {
      const mine = comparisons.filter((one) => one.paper === paper && one.cell.table === table);
      const main = new Map(mine.toReversed().map((one) => [`${one.cell.row}\n${one.cell.column}`, one]));
      const own = results.filter(({ cell }) => cell.table === table);
      return { paper, table, results: own, comparisons: [...main.values()] };
    });
  });
}

/** Errors over cells that nothing was fitted to; relative ones and differences of shares and gains stand apart. */
function errors({ comparisons }: PrintedTable, answer: Answer): string {
  const tested = comparisons.filter(isTest);
  const parts = [false, true].flatMap((isShare): string[] => {
    const own = tested.filter(({ unit }) => inPoints(unit) === isShare);
    const accuracy = accuracyOf(own.flatMap((one) => one[`${answer}Error`] ?? []));
    return accuracy === undefined ? [] : [text(isShare ? 'share' : '', accuracy)];
  });
  return parts.join(', ') || '–';
}

const text = (unit: string, { median, worst }: Accuracy): string =>
  `${medianText(unit, median)} (${errorText(unit, worst)})`;

/** tables.md: a line for every table as Markdown, the errors of both answers side by side. */
export function tablesMarkdown(
  covered: Readonly<Record<PaperName, readonly CoveredCell[]>>,
  comparisons: readonly Comparison[],
): string {
  const header = ['paper', 'table', 'results', 'compared', 'predicted: median (worst)', 'simulated: median (worst)'];
  const lines = printedTables(covered, comparisons).map((one) => [
    PAPER_TITLES[one.paper],
    one.table,
    String(one.results.length),
    String(one.results.filter(({ status }) => status === 'compared').length),
    errors(one, 'predicted'),
    errors(one, 'simulated'),
  ]);
  return [header, header.map((_, index) => (index < 2 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}
