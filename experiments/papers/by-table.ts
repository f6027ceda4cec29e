import type { PublishedCell } from '../../datasets/published.ts';
import { ANSWERS, type Comparison, isTest, type PaperName } from './comparison.ts';
import type { CoveredCell } from './coverage.ts';
import { type BlindCells, errorsText, type Group, groupOf, mainReadings } from './groups.ts';
import { PAPER_TITLES } from './summary.ts';

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
    return [...new Set(results.map(({ cell }) => nameOf(cell)))].map((table): PrintedTable => {
      const mine = comparisons.filter((one) => one.paper === paper && nameOf(one.cell) === table);
      const own = results.filter(({ cell }) => nameOf(cell) === table);
      return { paper, table, results: own, comparisons: mainReadings(mine) };
    });
  });
}

/** `Table 3 of v1`: tables of a paper's first version are numbered on their own. */
function nameOf({ paper, table }: PublishedCell): string {
  return paper.endsWith('-v1') ? `${table} of v1` : table;
}

/**
 * tables.md: a line for every table as Markdown: how many of its results are compared, of those with an error how many
 * are in which group, and the errors of both answers over seen and blind cells.
 */
export function tablesMarkdown(
  covered: Readonly<Record<PaperName, readonly CoveredCell[]>>,
  comparisons: readonly Comparison[],
  blind: BlindCells,
): string {
  const header = [
    ...['paper', 'table', 'results', 'compared', 'fitted', 'seen', 'blind'],
    ...['predicted: median (worst)', 'simulated: median (worst)'],
  ];
  const count = ({ comparisons: own }: PrintedTable, group: Group): string => {
    const numbers = own.filter((one) => (one.predictedError ?? one.simulatedError) !== undefined);
    return String(numbers.filter((one) => groupOf(one, blind) === group).length || '');
  };
  const lines = printedTables(covered, comparisons).map((one) => [
    PAPER_TITLES[one.paper],
    one.table,
    String(one.results.length),
    String(one.results.filter(({ status }) => status === 'compared').length),
    count(one, 'fitted'),
    count(one, 'seen'),
    count(one, 'blind'),
    ...ANSWERS.map((answer) => errorsText(one.comparisons.filter(isTest), answer)),
  ]);
  return [header, header.map((_, index) => (index < 2 ? '---' : '--:')), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}
