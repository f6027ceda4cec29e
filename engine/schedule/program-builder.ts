import type { IntegerProgram, ProgramColumn, ProgramRow } from './integer-solver.ts';

/** A column's index, as the builder hands it out. */
export type Column = number;
/** Coefficients by column. */
export type Terms = readonly (readonly [column: Column, coefficient: number])[];

/** Collects the columns and rows of an integer program. */
export interface ProgramBuilder {
  /** A variable that is 0 or 1. */
  binary(cost: number, upper?: number): Column;
  /** A whole variable from 0 to `upper`. */
  whole(cost: number, upper: number): Column;
  /** A variable that is at least 0 and at least `terms`; its cost must not be negative, or it would run away. */
  atLeast(cost: number, terms: Terms): Column;
  /** Σ coefficient·column ≤ 0; terms of one column are added up. */
  nonPositive(terms: Terms): void;
  /** Σ coefficient·column = value */
  equals(terms: Terms, value: number): void;
  program(): IntegerProgram;
}

export function createProgramBuilder(): ProgramBuilder {
  const columns: ProgramColumn[] = [];
  const rows: ProgramRow[] = [];
  const column = (found: ProgramColumn): Column => columns.push(found) - 1;
  const row = (terms: Terms, lower: number, upper: number): void => {
    const entries = new Map<Column, number>();
    for (const [index, coefficient] of terms) entries.set(index, (entries.get(index) ?? 0) + coefficient);
    rows.push({ lower, upper, entries: [...entries].filter(([, coefficient]) => coefficient !== 0) });
  };
  const builder: ProgramBuilder = {
    binary: (cost, upper = 1) => column({ cost, lower: 0, upper, integer: true }),
    whole: (cost, upper) => column({ cost, lower: 0, upper, integer: true }),
    atLeast(cost, terms) {
      const added = column({ cost, lower: 0, upper: Number.POSITIVE_INFINITY, integer: false });
      builder.nonPositive([...terms, [added, -1]]);
      return added;
    },
    nonPositive: (terms) => row(terms, Number.NEGATIVE_INFINITY, 0),
    equals: (terms, value) => row(terms, value, value),
    program: () => ({ columns, rows }),
  };
  return builder;
}
