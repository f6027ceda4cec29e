import { type Cell, held, type Judged, judge, type Problem, priors, type Unknown, type Values } from './problem.ts';

/** Passes over all unknowns before the search gives up finding values that no longer change. */
const MOST_PASSES = 6;
/** Values of either unknown that a move of two at once tries. */
const PAIR_VALUES = 4;

/**
 * Values that satisfy most cells. Every unknown keeps its prior unless another value satisfies more of the cells that it
 * may see; then it takes the middle of the run of best values that is nearest to the prior, so that no value stands on
 * the edge of its run. Unknowns are chosen in turn until nothing changes; where no single one gains, two at a time are
 * tried, counting the cells that both may see.
 * @param may which cells may be used at all; all unless given
 * @param step called after every pass
 */
export function chooseValues(problem: Problem, may: (cell: Cell) => boolean = () => true, step?: () => void): Values {
  let values = priors(problem);
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const before = values;
    for (const unknown of problem.unknowns) values = { ...values, [unknown.name]: best(problem, unknown, values, may) };
    if (equal(before, values)) {
      const moved = pairMove(problem, values, may);
      if (moved === undefined) break;
      values = moved;
    }
    step?.();
  }
  return values;
}

/** The value of one unknown, the others given. */
function best(problem: Problem, unknown: Unknown, values: Values, may: (cell: Cell) => boolean): number {
  const cells = problem.cells.filter((cell) => may(cell) && unknown.sees(cell));
  const counts = unknown.values.map((value) => countOf({ ...problem, cells }, { ...values, [unknown.name]: value }));
  const index = bestIndex(counts, unknown.values.indexOf(unknown.prior));
  return unknown.values[index] ?? unknown.prior;
}

/**
 * The index of the prior if no count is higher than its; otherwise the middle of the run of highest counts that is
 * nearest to it.
 */
export function bestIndex(counts: readonly number[], prior: number): number {
  const most = Math.max(...counts);
  if (counts[prior] === most) return prior;
  const runs = runsOf(counts, most);
  const distance = ({ from, to }: Run): number => Math.max(from - prior, prior - to, 0);
  const [nearest] = runs.sort((one, other) => distance(one) - distance(other));
  return nearest === undefined ? prior : Math.floor((nearest.from + nearest.to) / 2);
}

/** Indices from `from` to `to`, both included. */
interface Run {
  readonly from: number;
  readonly to: number;
}

function runsOf(counts: readonly number[], most: number): Run[] {
  const runs: Run[] = [];
  counts.forEach((count, index) => {
    if (count !== most) return;
    const last = runs.at(-1);
    if (last?.to === index - 1) runs[runs.length - 1] = { from: last.from, to: index };
    else runs.push({ from: index, to: index });
  });
  return runs;
}

/** The values with the two unknowns changed whose change gains most cells; undefined where none gains any. */
function pairMove(problem: Problem, values: Values, may: (cell: Cell) => boolean): Values | undefined {
  const { unknowns } = problem;
  let found: { readonly values: Values; readonly gain: number } | undefined;
  unknowns.forEach((one, index) => {
    for (const other of unknowns.slice(index + 1)) {
      const cells = problem.cells.filter((cell) => may(cell) && one.sees(cell) && other.sees(cell));
      const base = countOf({ ...problem, cells }, values);
      for (const first of sample(one.values)) {
        for (const second of sample(other.values)) {
          const changed = { ...values, [one.name]: first, [other.name]: second };
          const gain = countOf({ ...problem, cells }, changed) - base;
          if (gain > (found?.gain ?? 0)) found = { values: changed, gain };
        }
      }
    }
  });
  return found?.values;
}

/** At most PAIR_VALUES of the values, the ends among them. */
function sample(values: readonly number[]): number[] {
  if (values.length <= PAIR_VALUES) return [...values];
  const stride = (values.length - 1) / (PAIR_VALUES - 1);
  return Array.from({ length: PAIR_VALUES }, (_, index) => values[Math.round(index * stride)] as number);
}

function countOf(problem: Problem, values: Values): number {
  return held(judge(problem, values));
}

function equal(one: Values, other: Values): boolean {
  return Object.keys(one).every((name) => one[name] === other[name]);
}

/** A table, or a column where there is one table only, judged with values that were chosen without it. */
export interface LeftOut {
  readonly group: string;
  readonly values: Values;
  readonly judged: readonly Judged[];
}

/** Leave-one-table-out; with a single table, leave-one-column-out. */
export function leaveOneOut(problem: Problem, step?: (group: string) => void): LeftOut[] {
  const { groups, groupOf } = groupsOf(problem.cells);
  if (groups.length < 2) return [];
  return groups.map((group) => {
    const values = chooseValues(problem, (cell) => groupOf(cell) !== group);
    const judged = judge({ ...problem, cells: problem.cells.filter((cell) => groupOf(cell) === group) }, values);
    step?.(group);
    return { group, values, judged };
  });
}

/** The groups that are left out in turn, and the group of a cell. */
export function groupsOf(cells: readonly Cell[]): {
  readonly groups: readonly string[];
  readonly groupOf: (cell: Cell) => string;
} {
  const tables = new Set(cells.map(({ table }) => table)).size;
  const groupOf = ({ table, system }: Cell): string => (tables > 1 ? table : `${table} · ${system}`);
  return { groups: [...new Set(cells.map(groupOf))], groupOf };
}
