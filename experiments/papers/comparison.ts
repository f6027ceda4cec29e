/**
 * The engine that compares papers with predictions and simulations. A paper turns its rules and machines into a list of
 * rules, one per printed cell and reading of a system; compare() answers each and works out the errors. Summaries
 * (summary.ts), records (record.ts), tables and charts (tables.ts, charts.ts) read comparisons and nothing else.
 */

import type { Outcome, PublishedCell } from '../../datasets/published.ts';

/** Papers, by the name that the command line takes. */
export type PaperName = 'prima' | 'helm' | 'heterollm';

/** A figure in the unit of its rule, or what a table prints in its place. */
export type Quantity = number | Outcome;

export const ANSWERS = ['predicted', 'simulated'] as const;
/** Closed forms, or the simulation event by event. */
export type Answer = (typeof ANSWERS)[number];

/** The uses of cells, their names in reports, and whether such a cell tests anything. */
export const USES = {
  /** A constant was fitted to the cell, or may be. */
  fit: { name: 'fit', isTest: false },
  /** No constant was fitted to it. */
  'held-out': { name: 'held out', isTest: true },
} as const satisfies Record<string, { readonly name: string; readonly isTest: boolean }>;

export type Use = keyof typeof USES;

/** Whether a cell tests anything: its errors count in summaries, and have colours in tables. */
export function isTest({ use }: { readonly use: Use }): boolean {
  return USES[use].isTest;
}

/** Number of independent configurations of comparisons: prints of one quantity count once (PROTOCOL.md). */
export function configurationCount(comparisons: readonly Comparison[]): number {
  const keys = comparisons.map(({ configuration, cell: { table, row, column } }) =>
    configuration === undefined ? [table, row, column].join('\n') : configuration,
  );
  return new Set(keys).size;
}

/** The use of a cell as its file states it. */
export function useOf(cell: PublishedCell): Use {
  return cell.use === 'fit' ? 'fit' : 'held-out';
}

/** The answers for a cell; one is undefined where it doesn't cover the cell. */
export interface Answers<Detail> {
  readonly predicted: Quantity | undefined;
  readonly simulated: Quantity | undefined;
  /** Target for the error, a share; `undefined` if nothing is claimed. */
  readonly target: number | undefined;
  /** Further columns of the paper's own tables: plans, remarks, ranges. */
  readonly detail: Detail;
}

/** A printed cell and how its figure is computed here. */
export interface Rule<Detail> {
  readonly paper: PaperName;
  readonly cell: PublishedCell;
  /** One of several readings of a system; '' if there is only one. */
  readonly policy: string;
  /** Unit of the values. Errors of a `share` or a `gain` are differences; all others are relative. */
  readonly unit: string;
  readonly published: Quantity;
  /** Half-width of the cell's uncertainty, in the terms of the errors; undefined for outcomes. */
  readonly noise: number | undefined;
  readonly use: Use;
  /** Prints of one quantity under one setting have the same; the cell's place unless given. */
  readonly configuration?: string;
  readonly answer: () => Answers<Detail>;
}

/** A printed cell and the figures computed here. */
export interface Comparison<Detail = unknown> extends Omit<Rule<Detail>, 'answer'>, Answers<Detail> {
  readonly predictedError: number | undefined;
  readonly simulatedError: number | undefined;
}

/** Answers every rule, in order. @param step called with each cell before it is answered */
export function compare<Detail>(rules: readonly Rule<Detail>[], step: (label: string) => void): Comparison<Detail>[] {
  return rules.map(({ answer, ...rule }) => {
    const { table, row, column } = rule.cell;
    step(`${table}, ${row}, ${column}`);
    const answers = answer();
    const error = (found: Quantity | undefined): number | undefined => errorOf(found, rule);
    return {
      ...rule,
      ...answers,
      predictedError: error(answers.predicted),
      simulatedError: error(answers.simulated),
    };
  });
}

/** Whether errors are differences, in points: of shares of a whole, and of gains (0.234 for "23.4 % faster"). */
export function inPoints(unit: string): boolean {
  return unit === 'share' || unit === 'gain';
}

/** Lengths that are doubled until one fails: errors are powers of two, counted in octaves (1 for ×2, −1 for ½). */
export const OCTAVES = 'octaves';

/** Whether a figure agrees or doesn't, and has no error: units of a plan, and lengths at a model's own limit. */
export function isOutcome(unit: string): boolean {
  return unit === 'units' || unit === CAPPED;
}

/** Unit of a length that the paper prints at the model's own limit, beyond which none could be found. */
export const CAPPED = 'tokens, capped';

/**
 * Error of a result with its sign: octaves for lengths on a log₂ axis, for shares and gains the difference (0.01 is a point), otherwise relative to the published
 * value. A result below an upper bound has error 0. Undefined where either side isn't a number, and for outcomes.
 */
export function errorOf(
  found: Quantity | undefined,
  { published, unit, cell }: Pick<Rule<unknown>, 'published' | 'unit' | 'cell'>,
): number | undefined {
  if (typeof found !== 'number' || typeof published !== 'number' || published === 0 || isOutcome(unit))
    return undefined;
  if (unit === OCTAVES) return Math.log2(found / published);
  const error = inPoints(unit) ? found - published : found / published - 1;
  return isUpperBound(cell) ? Math.max(0, error) : error;
}

/** The paper prints `≤`, so a smaller value has no error. */
export function isUpperBound({ note }: PublishedCell): boolean {
  return note.startsWith('upper bound');
}

/** Whether published and predicted agree on what runs; undefined where nothing is modelled. */
export function outcomeAgrees({ published, predicted, unit }: Comparison): boolean | undefined {
  if (predicted !== undefined && isOutcome(unit)) return predicted === published;
  return predicted === undefined ? undefined : (typeof published === 'number') === (typeof predicted === 'number');
}

/** The cell at a place. @throws RangeError that names the place where it is not on file */
export function cellAt(
  cells: readonly PublishedCell[],
  { table, row, column }: Pick<PublishedCell, 'table' | 'row' | 'column'>,
): PublishedCell {
  const found = cells.find((cell) => cell.table === table && cell.row === row && cell.column === column);
  if (found === undefined) throw new RangeError(`no published cell at ${table}, ${row}, ${column}`);
  return found;
}

/** Two prints or statements of a paper that exclude each other. */
export interface Conflict {
  readonly subject: string;
  readonly printed: string;
  /** The paper's statement elsewhere, or what follows from it. */
  readonly against: string;
  /** The result here. */
  readonly here: string;
}
