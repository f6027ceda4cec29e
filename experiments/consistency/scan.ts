import { type Judged, judge, type Problem, type Unknown, type Values } from './problem.ts';

/** One unknown over its range, the others at given values. */
export interface Scan {
  readonly unknown: Unknown;
  /** One entry per value of the unknown: all cells of the problem. */
  readonly points: readonly { readonly value: number; readonly judged: readonly Judged[] }[];
}

export function scan(problem: Problem, unknown: Unknown, values: Values): Scan {
  const points = unknown.values.map((value) => ({
    value,
    judged: judge(problem, { ...values, [unknown.name]: value }),
  }));
  return { unknown, points };
}

/** Two unknowns over their ranges: `counts[row][column]` cells hold at value `row` of `y` and `column` of `x`. */
export interface CellMap {
  readonly x: Unknown;
  readonly y: Unknown;
  readonly counts: readonly (readonly number[])[];
}

export function cellMap(problem: Problem, x: Unknown, y: Unknown, values: Values): CellMap {
  const counts = y.values.map((row) =>
    x.values.map((column) => {
      const at = { ...values, [x.name]: column, [y.name]: row };
      return judge(problem, at).filter(({ holds }) => holds).length;
    }),
  );
  return { x, y, counts };
}

/** A cell that doesn't hold at the chosen values. */
export interface Contradicted {
  readonly judged: Judged;
  /**
   * Change that would make it hold: the value of one unknown, the others as chosen, and the cells that would fail
   * instead; undefined where no value of any unknown does.
   */
  readonly mended: { readonly unknown: Unknown; readonly value: number; readonly lost: readonly Judged[] } | undefined;
  /** Least and most seconds over all scans; undefined where it never runs. */
  readonly range: readonly [number, number] | undefined;
}

/** The cells that fail at the chosen values, with the cheapest way to mend each by a single unknown. */
export function contradictedCells(chosen: readonly Judged[], scans: readonly Scan[]): Contradicted[] {
  return chosen.flatMap((judged, index): Contradicted[] => {
    if (judged.holds) return [];
    let mended: Contradicted['mended'];
    const seconds: number[] = [];
    for (const { unknown, points } of scans) {
      for (const { value, judged: all } of points) {
        const at = all[index] as Judged;
        if (at.seconds !== undefined) seconds.push(at.seconds);
        if (!at.holds) continue;
        const lost = all.filter((one, other) => !one.holds && chosen[other]?.holds === true);
        if (mended === undefined || lost.length < mended.lost.length) mended = { unknown, value, lost };
      }
    }
    const range = seconds.length === 0 ? undefined : ([Math.min(...seconds), Math.max(...seconds)] as const);
    return [{ judged, mended, range }];
  });
}
