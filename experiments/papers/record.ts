import { parseCsv } from '../../engine/input/parse-csv.ts';
import { toCsv } from '../lib/csv.ts';
import type { ReproducedCell } from './comparison.ts';

const COLUMNS = ['paper', 'table', 'row', 'column', 'policy', 'predicted_error', 'simulated_error'] as const;

/** What is recorded of an answer: its error as a share, whether it agrees on what runs, or nothing to compare. */
export type RecordedError = number | 'agrees' | 'disagrees' | '';

export interface RecordedCell {
  readonly key: string;
  readonly predicted: RecordedError;
  readonly simulated: RecordedError;
}

/** Digits of an error: a hundredth of a point. */
const DIGITS = 4;

/** errors.csv: the error of every cell, for the gate against silent drift. */
export function errorRecord(cells: readonly ReproducedCell[]): string {
  return toCsv(
    COLUMNS,
    cells.map((one) => [one.paper, one.table, one.row, one.column, one.policy, ...answers(one).map(written)]),
  );
}

/** The same without a detour over a file. */
export function recordedCells(cells: readonly ReproducedCell[]): RecordedCell[] {
  return cells.map((one) => {
    const [predicted = '', simulated = ''] = answers(one);
    return { key: keyOf([one.paper, one.table, one.row, one.column, one.policy]), predicted, simulated };
  });
}

/** Reads a record. @throws InputError with file, row and column */
export function parseErrorRecord(text: string, file: string): RecordedCell[] {
  return parseCsv(text, file, COLUMNS).map(({ cell }) => ({
    key: keyOf([cell('paper'), cell('table'), cell('row'), cell('column'), cell('policy')]),
    predicted: read(cell('predicted_error')),
    simulated: read(cell('simulated_error')),
  }));
}

function answers(one: ReproducedCell): RecordedError[] {
  return (['predicted', 'simulated'] as const).map((answer) => {
    const error = one[`${answer}Error`];
    if (error !== undefined) return error;
    const found = one[answer];
    if (found === undefined) return '';
    return (typeof found === 'number') === (typeof one.published === 'number') ? 'agrees' : 'disagrees';
  });
}

/** Without a sign at zero, which rounding alone decides. */
function written(error: RecordedError): string {
  if (typeof error !== 'number') return error;
  const digits = error.toFixed(DIGITS);
  return Number(digits) === 0 ? (0).toFixed(DIGITS) : digits;
}

function read(text: string): RecordedError {
  return text === '' || text === 'agrees' || text === 'disagrees' ? text : Number(text);
}

function keyOf(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join(' · ');
}
