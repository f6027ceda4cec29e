import {
  type Cell,
  configurationOf,
  held,
  type Judged,
  judge,
  type Problem,
  priors,
  type Unknown,
  type Values,
} from './problem.ts';

/** Passes over all unknowns before the search gives up finding values that no longer change. */
const MOST_PASSES = 6;

/**
 * Values that satisfy most cells. Every unknown keeps its prior unless another value and its neighbours satisfy more of
 * the cells that it may see; then it takes the middle of the run of best values that is nearest to the prior, so that no
 * value stands on the edge of its run. Unknowns are chosen in turn until nothing changes.
 * @param may which cells may be used at all; all unless given
 * @param step called after every pass
 */
export function chooseValues(problem: Problem, may: (cell: Cell) => boolean = () => true, step?: () => void): Values {
  let values = priors(problem);
  for (let pass = 0; pass < MOST_PASSES; pass++) {
    const before = values;
    for (const unknown of problem.unknowns) values = { ...values, [unknown.name]: best(problem, unknown, values, may) };
    if (equal(before, values)) break;
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
 * The index of the prior unless another value satisfies more cells together with its neighbours; otherwise the middle of
 * the run of best values that is nearest to the prior. A value counts for what it and both of its neighbours satisfy at
 * least, so that a single point of the grid isn't chosen; the prior counts for itself.
 */
export function bestIndex(raw: readonly number[], prior: number): number {
  const counts = raw.map((count, index) => Math.min(raw[index - 1] ?? count, count, raw[index + 1] ?? count));
  const most = Math.max(...counts);
  if ((raw[prior] ?? 0) >= most) return prior;
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

function countOf(problem: Problem, values: Values): number {
  return held(judge(problem, values));
}

function equal(one: Values, other: Values): boolean {
  return Object.keys(one).every((name) => one[name] === other[name]);
}

/** Cells that are judged with values that were chosen without them. */
export interface LeftOut {
  /** The table, or the configuration, that is left out. */
  readonly group: string;
  readonly table: string;
  readonly values: Values;
  readonly judged: readonly Judged[];
}

/**
 * Leave-one-table-out. A testbed with a single table would be left without any cells: there one configuration (a system
 * with a model) is left out at a time.
 */
export function leaveOneOut(problem: Problem): LeftOut[] {
  const { groups, groupOf } = groupsOf(problem.cells);
  return groups.map((group) => {
    const own = problem.cells.filter((cell) => groupOf(cell) === group);
    const values = chooseValues(problem, (cell) => groupOf(cell) !== group);
    return { group, table: own[0]?.table ?? '', values, judged: judge({ ...problem, cells: own }, values) };
  });
}

/** The groups that are left out in turn, and the group of a cell. */
export function groupsOf(cells: readonly Cell[]): {
  readonly groups: readonly string[];
  readonly groupOf: (cell: Cell) => string;
} {
  const groupOf = hasOneTable(cells) ? configurationOf : ({ table }: Cell): string => table;
  return { groups: [...new Set(cells.map(groupOf))], groupOf };
}

export function hasOneTable(cells: readonly Cell[]): boolean {
  return new Set(cells.map(({ table }) => table)).size === 1;
}
