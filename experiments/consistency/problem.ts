/** An inverse problem: what a paper leaves unknown of a testbed, and which of its cells hold for given values. */

/** A quantity that the paper leaves open. */
export interface Unknown {
  /** `RAM of D3`; unique within its problem. */
  readonly name: string;
  /** `GiB`, `ms`: the unit of all values here. */
  readonly unit: string;
  /** The value that the paper prints, in the range; undefined where it prints none. */
  readonly printed: number | undefined;
  /** The value before any cell is compared; one of `values`. */
  readonly prior: number;
  /** Source of prior and range. */
  readonly reason: string;
  /** The values that are tried, ascending. */
  readonly values: readonly number[];
  /** Whether the cell may take part in choosing the value: decided by what runs on the part, not by its error. */
  readonly sees: (cell: Cell) => boolean;
  /** `sees` in words. */
  readonly seen: string;
}

/** A published time per token. */
export interface Cell {
  /** `Table 4, 45B, llama.cpp TPOT`: the place where it is printed. */
  readonly name: string;
  readonly table: string;
  readonly system: string;
  readonly row: string;
  /** Key of the model's shape and format: cells of one system with the same key are one configuration. */
  readonly model: string;
  /** Seconds. */
  readonly published: number;
}

/** A value for every unknown, by its name. */
export type Values = Readonly<Record<string, number>>;

export interface Problem {
  readonly name: string;
  readonly unknowns: readonly Unknown[];
  readonly cells: readonly Cell[];
  /** Largest |error| with which a cell holds. */
  readonly tolerance: number;
  /** Seconds per token of a cell; undefined where the system can't run. */
  readonly answer: (cell: Cell, values: Values) => number | undefined;
  /** The values with which the tables are reproduced. */
  readonly used: Values;
}

/** A cell under given values. */
export interface Judged {
  readonly cell: Cell;
  readonly seconds: number | undefined;
  /** seconds / published − 1; undefined where the system can't run. */
  readonly error: number | undefined;
  readonly holds: boolean;
}

/** The prior of every unknown. */
export function priors({ unknowns }: Pick<Problem, 'unknowns'>): Values {
  return Object.fromEntries(unknowns.map(({ name, prior }) => [name, prior]));
}

/** Every unknown as printed, or at its prior where nothing is printed. */
export function printedValues({ unknowns }: Pick<Problem, 'unknowns'>): Values {
  return Object.fromEntries(unknowns.map(({ name, printed, prior }) => [name, printed ?? prior]));
}

/** All cells of a problem under given values, in its order. */
export function judge({ cells, tolerance, answer }: Problem, values: Values): Judged[] {
  return cells.map((cell) => {
    const seconds = answer(cell, values);
    const error = seconds === undefined ? undefined : seconds / cell.published - 1;
    return { cell, seconds, error, holds: error !== undefined && Math.abs(error) <= tolerance };
  });
}

/** The number of cells that hold. */
export function held(judged: readonly Judged[]): number {
  return judged.filter(({ holds }) => holds).length;
}

/** Systems with a model: prints of the same shape, format and system are one configuration. */
export function configurations(cells: readonly Cell[]): number {
  return new Set(cells.map(configurationOf)).size;
}

/** A system with a model's shape and format. */
export function configurationOf({ system, model }: Cell): string {
  return `${system}, ${model}`;
}

/** A value of an unknown in at most four digits. */
export function shown(value: number): string {
  return String(Number(value.toPrecision(4)));
}
