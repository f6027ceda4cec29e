import { type LeftOutTable, leftOutTables } from './left-out.ts';
import {
  type Cell,
  configurations,
  held,
  type Judged,
  judge,
  type Problem,
  printedValues,
  priors,
  shown,
  type Unknown,
  type Values,
} from './problem.ts';
import { type CellMap, type Contradicted, cellMap, contradictedCells, type Scan, scan } from './scan.ts';
import { chooseValues } from './search.ts';

/** All results for one testbed. */
export interface Study {
  readonly problem: Problem;
  /** How prima.cpp's plans are made. */
  readonly planner: string;
  readonly values: Values;
  /** The cells at the printed values, at the priors, and at the chosen values. */
  readonly asPrinted: readonly Judged[];
  readonly before: readonly Judged[];
  readonly after: readonly Judged[];
  /** The cells at the values with which the tables are reproduced. */
  readonly used: readonly Judged[];
  readonly scans: readonly Scan[];
  readonly map: CellMap | undefined;
  readonly leftOut: readonly LeftOutTable[];
  readonly contradicted: readonly Contradicted[];
}

export interface StudyOptions {
  readonly planner: string;
  /** Names of the unknowns of the map; no map unless given. */
  readonly map?: readonly [x: string, y: string] | undefined;
  /** Called with what comes next. */
  readonly step?: (label: string) => void;
}

/** Steps that a study reports. */
export const STUDY_STEPS = 4;

export function study(problem: Problem, { planner, map, step = () => {} }: StudyOptions): Study {
  step(`${problem.name}, ${planner}: values`);
  const values = chooseValues(problem);
  const after = judge(problem, values);
  step(`${problem.name}, ${planner}: scans`);
  const scans = problem.unknowns.map((unknown) => scan(problem, unknown, values));
  step(`${problem.name}, ${planner}: map`);
  const [x, y] = (map ?? []).map((name) => problem.unknowns.find((unknown) => unknown.name === name));
  const mapped = x && y && cellMap(problem, x, y, values);
  step(`${problem.name}, ${planner}: a table left out`);
  return {
    problem,
    planner,
    values,
    asPrinted: judge(problem, printedValues(problem)),
    before: judge(problem, priors(problem)),
    after,
    used: judge(problem, problem.used),
    scans,
    map: mapped,
    leftOut: leftOutTables(problem),
    contradicted: contradictedCells(after, scans),
  };
}

/** An unknown with the value that was chosen. */
export interface Inferred {
  readonly study: Study;
  readonly unknown: Unknown;
  readonly value: number;
  /** The values around the chosen one with as many cells, the other unknowns as chosen. */
  readonly from: number;
  readonly to: number;
  /** Cells that hold because of it: those that fail when it returns to its prior. */
  readonly gained: readonly Judged[];
}

export function inferences(one: Study): Inferred[] {
  return one.scans.map(({ unknown, points }): Inferred => {
    const value = one.values[unknown.name] ?? unknown.prior;
    const at = points.findIndex((point) => point.value === value);
    const count = held(one.after);
    const same = (index: number): boolean => held(points[index]?.judged ?? []) === count;
    let [from, to] = [at, at];
    while (from > 0 && same(from - 1)) from--;
    while (to < points.length - 1 && same(to + 1)) to++;
    const prior = points.find((point) => point.value === unknown.prior)?.judged ?? [];
    const gained = one.after.filter(({ holds }, index) => holds && prior[index]?.holds === false);
    return { study: one, unknown, value, from: points[from]?.value ?? value, to: points[to]?.value ?? value, gained };
  });
}

/** How a cell took part. */
export type Part = 'fitted' | 'seen';

/** Least relative change of a cell's time that makes the cell depend on a value. */
const DEPENDS = 1e-3;

/**
 * The cells that the value of an unknown was fitted to: the unknown left its prior, it may see them, they hold, and their
 * times change where it returns to it. A cell that fails all the same counts as seen, so that its error counts.
 */
export function fittedTo(problem: Problem, unknown: Unknown, values: Values): Cell[] {
  if (values[unknown.name] === unknown.prior) return [];
  const cells = problem.cells.filter(unknown.sees);
  const chosen = judge({ ...problem, cells }, values);
  const before = judge({ ...problem, cells }, { ...values, [unknown.name]: unknown.prior });
  return cells.filter((_, index) => {
    const [now, then] = [chosen[index], before[index]?.seconds];
    if (now?.seconds === undefined || !now.holds) return false;
    return then === undefined || Math.abs(then / now.seconds - 1) > DEPENDS;
  });
}

/** The cells of a study that its values were fitted to; the others took part in the choice and are seen. */
export function fittedCells({ problem, values }: Pick<Study, 'problem' | 'values'>): ReadonlySet<Cell> {
  return new Set(problem.unknowns.flatMap((unknown) => fittedTo(problem, unknown, values)));
}

/** The findings of a study, in one or two sentences. */
export function summaryOf(one: Study): string {
  const { problem, asPrinted, before, after, leftOut, contradicted } = one;
  const moved = inferences(one).filter(({ unknown, value }) => value !== unknown.prior);
  const values = moved.map(({ unknown, value }) => `${unknown.name} ${shown(value)} ${unknown.unit}`).join(', ');
  const out = leftOut
    .map(({ table, unit, judged }) => `${table} ${held(judged)} of ${judged.length} (one ${unit} at a time)`)
    .join(', ');
  const never = contradicted.filter(({ mended }) => mended === undefined).map(({ judged }) => judged.cell.name);
  return [
    `${problem.name}: of ${after.length} cells ${held(asPrinted)} hold as printed, ${held(before)} at the priors, ${held(after)} with ${values === '' ? 'the same values' : values}${out === '' ? '' : `; left out of the choice, ${out}`}.`,
    ...(never.length === 0 ? [] : [`No value of any single unknown makes these hold: ${never.join('; ')}.`]),
  ].join(' ');
}

/** Cells and configurations of a study. */
export function sizeOf({ problem }: Study): { readonly cells: number; readonly configurations: number } {
  return { cells: problem.cells.length, configurations: configurations(problem.cells) };
}
