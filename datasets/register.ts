import { InputError } from '../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../engine/input/parse-csv.ts';

const COLUMNS = ['choice', 'paper', 'table', 'row', 'column', 'policy', 'answer', 'before', 'after'] as const;
type Column = (typeof COLUMNS)[number];

/** The name under which first errors of cells stand that were computed after the model was fixed. */
export const BLIND = 'blind';

/** Stands before a choice for a cell that nothing had computed until then, though it had been read. */
export const NOT_COMPUTED = 'none';

/** The paper of rows about runs that a lab measured here (datasets/measured): its tables are files, its rows plans. */
export const LAB = 'lab';

/** An error of a cell before and after a choice that was made by somebody who had seen it (PROTOCOL.md). */
export interface RegisteredError {
  /** The choice, by its name in PROTOCOL.md, or BLIND for a first error. */
  readonly choice: string;
  readonly paper: string;
  readonly table: string;
  readonly row: string;
  readonly column: string;
  /** The reading of the system, where there are several. */
  readonly policy: string;
  readonly answer: 'predicted' | 'simulated';
  /** Shares, or `agrees` and `disagrees` for outcomes; empty for a first error, NOT_COMPUTED for a choice. */
  readonly before: string;
  readonly after: string;
}

/** Parses the register. @throws InputError with file, row and column */
export function parseRegister(text: string, file: string): RegisteredError[] {
  return parseCsv(text, file, COLUMNS).map((row) => {
    const { cell, where } = row;
    const before = recorded(row, 'before');
    if ((cell('choice') === BLIND) !== (before === ''))
      throw new InputError(
        where('before'),
        `is empty for "${BLIND}", and only there: a first error has none before it`,
      );
    return {
      choice: cell('choice'),
      paper: cell('paper'),
      table: cell('table'),
      row: cell('row'),
      column: cell('column'),
      policy: cell('policy'),
      answer: row.oneOf('answer', ['predicted', 'simulated']),
      before,
      after: recorded(row, 'after'),
    };
  });
}

function recorded({ cell, where }: CsvRow<Column>, column: 'before' | 'after'): string {
  const text = cell(column);
  if (text === NOT_COMPUTED && column === 'before') return text;
  if (text === 'agrees' || text === 'disagrees' || text === '' || Number.isFinite(Number(text))) return text;
  throw new InputError(where(column), `"${text}" is not a number, nor agrees or disagrees`);
}
