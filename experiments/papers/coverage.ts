/**
 * Treatment of every number that the papers print. A number is compared where a paper's rules have a row for it; all
 * others are accounted for here, by the first rule that matches, so that none is left out without a reason.
 */

import type { PublishedCell } from '../../datasets/published.ts';
import { type Column, type Table, tableBlock, tableCsv } from '../report/columns.ts';
import type { Section } from '../report/page/page.ts';
import type { Comparison } from './comparison.ts';

/** Why a printed number is not compared. */
export const REASONS = {
  'not run': 'the paper prints no figure: the program was not run, or does not report it',
  input: 'a fact about a model, a device, a network or a workload, which the models take as given',
  'worked example': 'arithmetic that the paper shows; a test holds our formula to it',
  derived: 'follows from other printed figures, which are compared',
  'not comparable': 'stated relative to something that is not what it is called, or zero here by construction',
  'own prediction': 'the paper’s own prediction or its error, not a measurement',
  'earlier version': 'the paper’s first version prints the same quantity, measured with an older program',
  'other program': 'a program that is not modelled',
  'not modelled': 'nothing here predicts it',
} as const;

export type Reason = keyof typeof REASONS;

/** Accounts for the cells that have all its members; a cell takes the reason of the first rule that matches it. */
export interface CoverageRule extends Partial<Pick<PublishedCell, 'basis' | 'metric' | 'system'>> {
  readonly table?: string | RegExp;
  readonly row?: string | RegExp;
  readonly column?: string | RegExp;
  readonly value?: PublishedCell['value'];
  readonly reason: Reason;
  /** The missing part, or the test of the formula. */
  readonly note?: string;
}

/** A printed number: compared, or why not; `missing` where no rule accounts for it. */
export interface CoveredCell {
  readonly cell: PublishedCell;
  readonly status: 'compared' | 'missing' | Reason;
  readonly note: string;
}

const matches = (wanted: string | RegExp | undefined, found: string): boolean =>
  wanted === undefined || (typeof wanted === 'string' ? wanted === found : wanted.test(found));

function applies(rule: CoverageRule, cell: PublishedCell): boolean {
  return (
    matches(rule.table, cell.table) &&
    matches(rule.row, cell.row) &&
    matches(rule.column, cell.column) &&
    (rule.basis ?? cell.basis) === cell.basis &&
    (rule.metric ?? cell.metric) === cell.metric &&
    (rule.system ?? cell.system) === cell.system &&
    (rule.value ?? cell.value) === cell.value
  );
}

const placeOf = ({ paper, table, row, column }: PublishedCell): string => [paper, table, row, column].join('\n');

/** Accounts for all cells of a paper, in order. */
export function coverageOf(
  cells: readonly PublishedCell[],
  comparisons: readonly Comparison[],
  rules: readonly CoverageRule[],
): CoveredCell[] {
  const compared = new Set(comparisons.map(({ cell }) => placeOf(cell)));
  return cells.map((cell): CoveredCell => {
    if (compared.has(placeOf(cell))) return { cell, status: 'compared', note: '' };
    const rule = rules.find((one) => applies(one, cell));
    return { cell, status: rule?.reason ?? 'missing', note: rule?.note ?? '' };
  });
}

/** The rules that account for no cell: the cells that they were made for are compared now, or gone. */
export function idleRules(covered: readonly CoveredCell[], rules: readonly CoverageRule[]): CoverageRule[] {
  const open = covered.filter(({ status }) => status !== 'compared').map(({ cell }) => cell);
  const used = new Set(open.map((cell) => rules.find((one) => applies(one, cell))));
  return rules.filter((rule) => !used.has(rule));
}

const CELL: readonly Column<CoveredCell>[] = [
  { key: 'paper', value: ({ cell }) => cell.paper },
  { key: 'table', title: 'table', value: ({ cell }) => cell.table },
  { key: 'row', title: 'row', value: ({ cell }) => cell.row },
  { key: 'column', title: 'column', value: ({ cell }) => cell.column },
  { key: 'value', title: 'printed', value: ({ cell }) => cell.value, align: 'right' },
  { key: 'unit', title: 'unit', value: ({ cell }) => cell.unit },
  { key: 'status', title: 'status', value: ({ status }) => status, label: true },
  { key: 'note', title: 'note', value: ({ note }) => note },
];

/** coverage.csv: a row for every printed number. */
export function coverageCsv(covered: readonly CoveredCell[]): string {
  return tableCsv({ columns: CELL, rows: covered });
}

interface TableCoverage {
  readonly paper: string;
  readonly table: string;
  readonly cells: readonly CoveredCell[];
}

const count = (status: CoveredCell['status'], { cells }: TableCoverage): number | undefined =>
  cells.filter((one) => one.status === status).length || undefined;

const STATUSES = ['compared', ...(Object.keys(REASONS) as Reason[])] as const;

/** A row for every table, figure and section with a number: how many are compared, and what the others are. */
export function coverageTable(covered: readonly CoveredCell[]): Table<TableCoverage> {
  const groups = new Map<string, TableCoverage & { readonly cells: CoveredCell[] }>();
  for (const one of covered) {
    const { paper, table } = one.cell;
    const key = `${paper}\n${table}`;
    const group = groups.get(key) ?? { paper, table, cells: [] };
    group.cells.push(one);
    groups.set(key, group);
  }
  return {
    columns: [
      { title: 'paper', value: ({ paper }) => paper, label: true },
      { title: 'table', value: ({ table }) => table, label: true },
      { title: 'numbers', value: ({ cells }) => cells.length, unit: 'count' },
      ...STATUSES.map(
        (status): Column<TableCoverage> => ({ title: status, value: (group) => count(status, group), unit: 'count' }),
      ),
    ],
    rows: [...groups.values()],
    groups: true,
  };
}

/** The section of the report that accounts for every number. */
export function coverageSection(covered: readonly CoveredCell[]): Section {
  const open = covered.filter(({ status }) => status === 'not modelled' || status === 'missing');
  return {
    title: 'Every printed number',
    blocks: [
      {
        kind: 'text',
        text: `${covered.length} numbers, of which ${covered.filter(({ status }) => status === 'compared').length} are compared. The others: ${Object.entries(
          REASONS,
        )
          .map(([reason, meaning]) => `${reason}: ${meaning}`)
          .join('; ')}. coverage.csv has each of them.`,
      },
      tableBlock({ ...coverageTable(covered), sparse: true }, { title: 'Numbers by table' }),
      tableBlock(
        { columns: CELL.filter(({ key }) => key !== 'status'), rows: open, sparse: true },
        { title: 'Results that nothing here predicts' },
      ),
    ],
  };
}
