import { type Comparison, compare, isTest, type PaperName, type Rule } from '../comparison.ts';

/** A value that was fitted to cells of a paper, or inferred from them, or assumed. */
export interface Parameter {
  readonly name: string;
  /** As it is taken: `3.8 GiB`. */
  readonly value: string;
  readonly kind: 'fitted' | 'assumed';
}

/** A cell whose answer can move: a number under the reading of its system that stands for the paper's. */
export interface StudiedCell {
  readonly label: string;
  readonly published: number;
  /** Errors of shares and gains are differences in points. */
  readonly unit: string;
  /** No constant was fitted to it. */
  readonly isTest: boolean;
}

/** A paper whose cells can be answered with one parameter changed. */
export interface Study {
  readonly paper: PaperName;
  readonly parameters: readonly Parameter[];
  readonly cells: readonly StudiedCell[];
  /**
   * Simulated answers of all cells, in their order, with a parameter (by its place in the list) multiplied by a factor;
   * `undefined`: everything as it is taken. `null` where there is no number: the model doesn't run.
   */
  readonly answers: (parameter: number | undefined, factor: number) => (number | null)[];
  readonly dispose: () => void;
}

/** Rules whose cells print a number. */
export function numeric<Detail>(rules: readonly Rule<Detail>[]): Rule<Detail>[] {
  return rules.filter(({ published }) => typeof published === 'number' && published !== 0);
}

export function studiedCells(rules: readonly Rule<unknown>[]): StudiedCell[] {
  return rules.map((rule) => ({
    label: `${rule.cell.table}, ${rule.cell.row}, ${rule.cell.column}`,
    published: rule.published as number,
    unit: rule.unit,
    isTest: isTest(rule),
  }));
}

/** The simulated answers of rules. */
export function simulatedAnswers(rules: readonly Rule<unknown>[]): (number | null)[] {
  return compare(rules, () => {}).map(({ simulated }: Comparison) =>
    typeof simulated === 'number' ? simulated : null,
  );
}
