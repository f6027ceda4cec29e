import type { IntegerProgram, ProgramColumn, ProgramRow } from '../../integer-solver.ts';

/** A variable of the program: its index among the columns. */
export type Column = number;

/** coefficient · column */
export interface Term {
  readonly column: Column;
  readonly coefficient: number;
}

export function times(coefficient: number, column: Column): Term {
  return { column, coefficient };
}

/** The negated sum. */
export function minus(terms: readonly Term[]): Term[] {
  return terms.map(({ column, coefficient }) => times(-coefficient, column));
}

/** Collects the columns and rows of an integer program. Sums are lists of terms; terms of one column are added up. */
export interface ProgramBuilder {
  /** A column that is 0 or 1. */
  binary(cost: number): Column;
  /** A whole column from 0 to `upper`. */
  whole(cost: number, upper: number): Column;
  /** A column from 0 to 1 that need not be whole. */
  share(cost: number): Column;
  /** The larger of 0 and `sum`, as a column that minimising pushes down to it; the cost must not be negative. */
  positivePart(cost: number, sum: readonly Term[]): Column;
  /** left ≤ right */
  atMost(left: readonly Term[], right: readonly Term[]): void;
  /** left = value */
  equal(left: readonly Term[], value: number): void;
  program(): IntegerProgram;
}

export function createProgramBuilder(): ProgramBuilder {
  const columns: ProgramColumn[] = [];
  const rows: ProgramRow[] = [];
  const add = (cost: number, upper: number, integer: boolean): Column =>
    columns.push({ cost, lower: 0, upper, integer }) - 1;
  const row = (terms: readonly Term[], lower: number, upper: number): void => {
    const entries = new Map<Column, number>();
    for (const { column, coefficient } of terms) entries.set(column, (entries.get(column) ?? 0) + coefficient);
    rows.push({ lower, upper, entries: [...entries].filter(([, coefficient]) => coefficient !== 0) });
  };
  const builder: ProgramBuilder = {
    binary: (cost) => add(cost, 1, true),
    whole: (cost, upper) => add(cost, upper, true),
    share: (cost) => add(cost, 1, false),
    positivePart(cost, sum) {
      const column = add(cost, Number.POSITIVE_INFINITY, false);
      builder.atMost(sum, [times(1, column)]);
      return column;
    },
    atMost: (left, right) => row([...left, ...minus(right)], Number.NEGATIVE_INFINITY, 0),
    equal: (left, value) => row(left, value, value),
    program: () => ({ columns, rows }),
  };
  return builder;
}
