import { parseCsv } from '../../engine/input/parse-csv.ts';
import { type Column, tableCsv } from '../report/columns.ts';
import { ANSWERS, type Answer, type Comparison, isOutcome } from './comparison.ts';
import { type BlindCells, groupOf } from './groups.ts';

const PLACE: readonly Column<Comparison>[] = [
  { key: 'paper', value: ({ paper }) => paper },
  { key: 'table', value: ({ cell }) => cell.table },
  { key: 'row', value: ({ cell }) => cell.row },
  { key: 'column', value: ({ cell }) => cell.column },
  { key: 'policy', value: ({ policy }) => policy },
];

/**
 * A comparison as a row of cells.csv: values in the unit of the row, errors as shares of the published value, and whether
 * the cell is fitted, seen or blind.
 */
const cellColumns = (blind: BlindCells): readonly Column<Comparison>[] => [
  ...PLACE,
  { key: 'unit', value: ({ unit }) => unit },
  { key: 'published', value: ({ published }) => published },
  { key: 'predicted', value: ({ predicted }) => predicted },
  { key: 'predicted_error', value: ({ predictedError }) => predictedError },
  { key: 'simulated', value: ({ simulated }) => simulated },
  { key: 'simulated_error', value: ({ simulatedError }) => simulatedError },
  { key: 'noise', value: ({ noise }) => noise },
  { key: 'group', value: (one) => groupOf(one, blind) },
  { key: 'target', value: ({ target }) => target },
];

/** cells.csv: a row per cell and policy. */
export function cellsCsv(comparisons: readonly Comparison[], blind: BlindCells): string {
  return tableCsv({ columns: cellColumns(blind), rows: comparisons });
}

/** A comparison as written to cells.json. */
export function cellJson({ cell, ...one }: Comparison): Record<string, unknown> {
  const { paper, policy, unit, published, predicted, simulated, predictedError, simulatedError, noise, use, target } =
    one;
  const { table, row, column } = cell;
  return {
    ...{ paper, table, row, column, policy, unit, published, predicted, simulated },
    ...{ predictedError, simulatedError, noise, use, target },
  };
}

/** The record of an answer: its error as a share, whether it agrees on what runs, or nothing to compare. */
export type RecordedError = number | 'agrees' | 'disagrees' | '';

export interface RecordedCell {
  readonly key: string;
  readonly predicted: RecordedError;
  readonly simulated: RecordedError;
}

/** Decimals of a recorded error: a hundredth of a point. */
const DIGITS = 4;
/** Largest rounding error of those decimals. */
const ROUNDING = 5e-5;
/** An error may grow by a point before it counts as drift. */
const DRIFT_LIMIT = 0.01;

/** errors.csv: the errors of every cell, which the gate against silent drift reads. */
export function errorRecord(comparisons: readonly Comparison[]): string {
  return tableCsv({
    columns: [
      ...PLACE,
      ...ANSWERS.map((answer) => ({
        key: `${answer}_error`,
        value: (one: Comparison) => written(recordedError(one, answer)),
      })),
    ],
    rows: comparisons,
  });
}

/** The record as it would be read from errors.csv, but unrounded. */
export function recordedCells(comparisons: readonly Comparison[]): RecordedCell[] {
  return comparisons.map((one) => ({
    key: keyOf(PLACE.map(({ value }) => String(value(one)))),
    predicted: recordedError(one, 'predicted'),
    simulated: recordedError(one, 'simulated'),
  }));
}

/** Reads a record. @throws InputError with file, row and column */
export function parseErrorRecord(text: string, file: string): RecordedCell[] {
  const columns = ['paper', 'table', 'row', 'column', 'policy', 'predicted_error', 'simulated_error'] as const;
  // Labels like "+AVX2" are written with the apostrophe that marks texts for spreadsheets (report/csv.ts).
  const label = (cell: string): string => cell.replace(/^'(?=[=+\-@])/, '');
  return parseCsv(text, file, columns).map(({ cell }) => ({
    key: keyOf([cell('paper'), cell('table'), cell('row'), cell('column'), cell('policy')].map(label)),
    predicted: read(cell('predicted_error')),
    simulated: read(cell('simulated_error')),
  }));
}

/**
 * Lists what is worse than in the record: errors that grew by more than a point, answers that are gone or no longer
 * agree on what runs, cells that are gone, and cells that the record doesn't know. Improvements don't count as drift.
 */
export function drift(recorded: readonly RecordedCell[], found: readonly RecordedCell[]): string[] {
  const known = new Map(recorded.map((cell) => [cell.key, cell]));
  const now = new Map(found.map((cell) => [cell.key, cell]));
  return [
    ...recorded.filter(({ key }) => !now.has(key)).map(({ key }) => `${key}: is no longer reproduced`),
    ...found.flatMap((cell) => {
      const before = known.get(cell.key);
      if (before === undefined) return [`${cell.key}: is not in the record`];
      return ANSWERS.flatMap((answer) => {
        const message = worsening(before[answer], cell[answer]);
        return message === undefined ? [] : [`${cell.key}, ${answer}: ${message}`];
      });
    }),
  ];
}

function worsening(before: RecordedError, now: RecordedError): string | undefined {
  if (typeof before === 'number' && typeof now === 'number') {
    const grew = Math.abs(now) - Math.abs(before);
    if (grew <= DRIFT_LIMIT + ROUNDING) return undefined;
    return `error ${percent(before)} became ${percent(now)}`;
  }
  if (before === now || before === '' || before === 'disagrees') return undefined;
  return `${text(before)} became ${text(now)}`;
}

function recordedError(one: Comparison, answer: Answer): RecordedError {
  const error = one[`${answer}Error`];
  if (error !== undefined) return error;
  const found = one[answer];
  if (found === undefined) return '';
  if (isOutcome(one.unit)) return found === one.published ? 'agrees' : 'disagrees';
  return (typeof found === 'number') === (typeof one.published === 'number') ? 'agrees' : 'disagrees';
}

/** The text without a sign at zero, which would depend on rounding alone. */
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

const percent = (error: number): string => `${(100 * error).toFixed(1)} %`;
const text = (error: RecordedError): string =>
  typeof error === 'number' ? `error ${percent(error)}` : error || 'nothing';
