import type { Column } from '../report/columns.ts';
import { errorTone } from '../report/error-tone.ts';
import { held, type Judged, shown } from './problem.ts';
import type { Contradicted } from './scan.ts';
import { fittedCells, type Inferred, inferences, type Part, type Study, sizeOf } from './study.ts';

/** Numbers of cells that hold, by the source of the values. */
export const OVERVIEW_COLUMNS: readonly Column<Study>[] = [
  { title: 'testbed', key: 'testbed', value: ({ problem }) => problem.name, label: true },
  { title: 'plans by', key: 'planner', value: ({ planner }) => planner, label: true },
  { title: 'cells', key: 'cells', value: (one) => sizeOf(one).cells, unit: 'count' },
  { title: 'configurations', key: 'configurations', value: (one) => sizeOf(one).configurations, unit: 'count' },
  { title: 'hold\nas printed', key: 'hold_printed', value: ({ asPrinted }) => held(asPrinted), unit: 'count' },
  { title: 'at the\npriors', key: 'hold_prior', value: ({ before }) => held(before), unit: 'count' },
  { title: 'as\nreproduced', key: 'hold_reproduced', value: ({ used }) => held(used), unit: 'count' },
  { title: 'at the\nchosen values', key: 'hold_chosen', value: ({ after }) => held(after), unit: 'count' },
  {
    title: 'left out\nof the choice',
    key: 'hold_left_out',
    value: ({ leftOut }) => leftOut.reduce((sum, { judged }) => sum + held(judged), 0),
    unit: 'count',
  },
];

/** The unknowns: their priors and chosen values. */
export const UNKNOWN_COLUMNS: readonly Column<Inferred>[] = [
  { title: 'testbed', key: 'testbed', value: ({ study }) => study.problem.name, label: true },
  { title: 'plans by', key: 'planner', value: ({ study }) => study.planner, on: 'terminal' },
  { title: 'unknown', key: 'unknown', value: ({ unknown }) => unknown.name, label: true },
  { title: 'printed', key: 'printed', value: ({ unknown }) => unknown.printed, text: printedText, align: 'right' },
  {
    title: 'prior',
    key: 'prior',
    value: ({ unknown }) => unknown.prior,
    text: (row) => shown(row.unknown.prior),
    align: 'right',
  },
  { title: 'chosen', key: 'chosen', value: ({ value }) => value, text: (row) => shown(row.value), align: 'right' },
  {
    title: 'reproduced\nwith',
    key: 'used',
    value: ({ study, unknown }) => study.problem.used[unknown.name],
    text: ({ study, unknown }) => shown(study.problem.used[unknown.name] ?? unknown.prior),
    align: 'right',
  },
  {
    title: 'as good',
    value: ({ from }) => from,
    text: ({ from, to }) => (from === to ? shown(from) : `${shown(from)} to ${shown(to)}`),
    align: 'right',
  },
  { key: 'as_good_from', value: ({ from }) => from },
  { key: 'as_good_to', value: ({ to }) => to },
  { title: 'unit', key: 'unit', value: ({ unknown }) => unknown.unit },
  {
    title: 'status',
    key: 'status',
    value: ({ unknown, value, gained }) =>
      value === unknown.prior
        ? 'prior'
        : `inferred by consistency: ${gained.length} ${gained.length === 1 ? 'cell' : 'cells'}`,
    wraps: true,
  },
  { key: 'sees', value: ({ unknown }) => unknown.seen },
  { key: 'reason', value: ({ unknown }) => unknown.reason },
  { key: 'holds_because', value: ({ gained }) => gained.map(({ cell }) => cell.name).join('; ') },
];

/** Origin of priors and ranges, and the cells that choose a value. */
export const REASON_COLUMNS: readonly Column<Inferred>[] = [
  { title: 'unknown', value: ({ unknown }) => unknown.name, label: true },
  {
    title: 'tried',
    value: ({ unknown }) =>
      `${shown(Math.min(...unknown.values))} to ${shown(Math.max(...unknown.values))} ${unknown.unit}`,
    label: true,
  },
  { title: 'cells that it may see', value: ({ unknown }) => unknown.seen, wraps: true },
  { title: 'prior and range', value: ({ unknown }) => unknown.reason, wraps: true },
  {
    title: 'cells that hold because of the chosen value',
    value: ({ gained }) => gained.map(({ cell }) => cell.name).join('; '),
    wraps: true,
  },
];

function printedText({ unknown }: Inferred): string {
  return unknown.printed === undefined ? '–' : shown(unknown.printed);
}

/** A cell of a study. */
export interface CellRow {
  readonly study: Study;
  readonly before: Judged;
  readonly after: Judged;
  readonly part: Part;
}

export function cellRows(one: Study): CellRow[] {
  const fitted = fittedCells(one);
  return one.after.map((after, index) => ({
    study: one,
    before: one.before[index] as Judged,
    after,
    part: fitted.has(after.cell) ? 'fitted' : 'seen',
  }));
}

export const CELL_COLUMNS: readonly Column<CellRow>[] = [
  { title: 'testbed', key: 'testbed', value: ({ study }) => study.problem.name, label: true },
  { key: 'planner', value: ({ study }) => study.planner },
  { title: 'table', key: 'table', value: ({ after }) => after.cell.table, label: true },
  { title: 'system', key: 'system', value: ({ after }) => after.cell.system, label: true },
  { title: 'row', key: 'row', value: ({ after }) => after.cell.row, wraps: true },
  { title: 'published', key: 'published_s', value: ({ after }) => after.cell.published, unit: 'seconds' },
  { title: 'at the priors', key: 'prior_s', value: ({ before }) => before.seconds, unit: 'seconds' },
  { title: 'at the chosen\nvalues', key: 'chosen_s', value: ({ after }) => after.seconds, unit: 'seconds' },
  {
    title: 'error',
    key: 'error',
    value: ({ after }) => after.error,
    unit: 'deviation',
    tone: ({ study, after }) => (after.error === undefined ? 'bad' : errorTone(after.error, study.problem.tolerance)),
  },
  { title: 'the cell is', key: 'part', value: ({ part }) => part },
  { key: 'holds', value: ({ after }) => (after.holds ? 'yes' : 'no') },
];

/** A cell that fails at the chosen values. */
export type ContradictedRow = Contradicted & { readonly study: Study };

export const CONTRADICTED_COLUMNS: readonly Column<ContradictedRow>[] = [
  { title: 'cell', value: ({ judged }) => judged.cell.name, wraps: true },
  { title: 'published', value: ({ judged }) => judged.cell.published, unit: 'seconds' },
  { title: 'simulated', value: ({ judged }) => judged.seconds, unit: 'seconds' },
  { title: 'least, over\nall scans', value: ({ range }) => range?.[0], unit: 'seconds' },
  { title: 'most', value: ({ range }) => range?.[1], unit: 'seconds' },
  {
    title: 'what a single unknown does',
    value: ({ mended }) =>
      mended === undefined
        ? 'no value of any single unknown makes it hold'
        : `holds with ${mended.unknown.name} at ${shown(mended.value)} ${mended.unknown.unit}; then ${mended.lost.length === 0 ? 'nothing else fails' : `these fail: ${mended.lost.map(({ cell }) => cell.name).join('; ')}`}`,
    wraps: true,
  },
];

/** A point of a scan. */
export interface ScanRow {
  readonly study: Study;
  readonly unknown: string;
  readonly unit: string;
  readonly value: number;
  readonly judged: readonly Judged[];
}

export function scanRows(one: Study): ScanRow[] {
  return one.scans.flatMap(({ unknown, points }) =>
    points.map(({ value, judged }) => ({ study: one, unknown: unknown.name, unit: unknown.unit, value, judged })),
  );
}

export const SCAN_COLUMNS: readonly Column<ScanRow>[] = [
  { key: 'testbed', value: ({ study }) => study.problem.name },
  { key: 'planner', value: ({ study }) => study.planner },
  { key: 'unknown', value: ({ unknown }) => unknown },
  { key: 'unit', value: ({ unit }) => unit },
  { key: 'value', value: ({ value }) => value },
  { key: 'cells', value: ({ judged }) => judged.length },
  { key: 'hold', value: ({ judged }) => held(judged) },
  {
    key: 'fail',
    value: ({ judged }) =>
      judged
        .filter(({ holds }) => !holds)
        .map(({ cell }) => cell.name)
        .join('; '),
  },
];

/** Studies as the JSON file has them. */
export function studyData(one: Study) {
  return {
    testbed: one.problem.name,
    planner: one.planner,
    cells: one.after.length,
    configurations: sizeOf(one).configurations,
    held: {
      printed: held(one.asPrinted),
      priors: held(one.before),
      reproduced: held(one.used),
      chosen: held(one.after),
    },
    unknowns: inferences(one).map(({ unknown, value, from, to, gained }) => ({
      name: unknown.name,
      unit: unknown.unit,
      printed: unknown.printed,
      prior: unknown.prior,
      chosen: value,
      reproducedWith: one.problem.used[unknown.name],
      asGood: [from, to],
      holdsBecause: gained.map(({ cell }) => cell.name),
    })),
    leftOut: one.leftOut.map(({ table, unit, judged, parts }) => ({
      table,
      cells: judged.length,
      held: held(judged),
      choices: parts.map(({ group, values }) => ({ without: group, values })),
      oneAtATime: unit,
    })),
    errors: cellRows(one).map(({ after, part }) => ({ cell: after.cell.name, error: after.error, part })),
  };
}
