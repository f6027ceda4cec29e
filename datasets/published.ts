import { InputError } from '../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../engine/input/parse-csv.ts';

const COLUMNS = [
  'paper',
  'table',
  'row',
  'column',
  'value',
  'unit',
  'basis',
  'noise',
  'noise_from',
  'use',
  'cluster',
  'model',
  'system',
  'metric',
  'note',
] as const;
type Column = (typeof COLUMNS)[number];

/** Outcomes that a paper prints in place of a number: out of memory, failed to start, not reported, not supported. */
export const OUTCOMES = ['OOM', 'failed', 'not-reported', 'unsupported'] as const;
export type Outcome = (typeof OUTCOMES)[number];

const BASES = ['measured', 'derived', 'quoted'] as const;
const USES = ['fit', 'held-out', ''] as const;

/** One number that a paper prints, with its place and what it is about ('' where a key does not apply). */
export interface PublishedCell {
  readonly paper: string;
  readonly table: string;
  readonly row: string;
  readonly column: string;
  /** In `unit`, as printed. */
  readonly value: number | Outcome;
  readonly unit: string;
  readonly basis: (typeof BASES)[number];
  /**
   * Half-width of the noise, within which no model can be expected to agree, in `unit`; undefined for counts and
   * outcomes.
   */
  readonly noise: number | undefined;
  readonly noiseFrom: string;
  readonly use: (typeof USES)[number];
  readonly cluster: string;
  readonly model: string;
  readonly system: string;
  readonly metric: string;
  readonly note: string;
}

/** The subject of a cell; omitted keys match anything. */
export type PublishedKey = Partial<Pick<PublishedCell, 'cluster' | 'model' | 'system' | 'metric'>>;

/**
 * Parses a file of published results (CSV; columns in datasets/README.md).
 * @param file name for messages
 * @throws InputError with file, row and column
 */
export function parsePublished(text: string, file: string): PublishedCell[] {
  return parseCsv(text, file, COLUMNS).map(parseCell);
}

/** The cells about `key`, in the order of the files. A measured cell comes before what a text derives from it. */
export function findPublished(cells: readonly PublishedCell[], key: PublishedKey): PublishedCell[] {
  const entries = Object.entries(key) as [keyof PublishedKey, string][];
  const found = cells.filter((cell) => entries.every(([name, value]) => cell[name] === value));
  return found.sort((one, other) => BASES.indexOf(one.basis) - BASES.indexOf(other.basis));
}

/** A cell's time in seconds, or undefined if it isn't a time (another unit, or an outcome). */
export function publishedSeconds({ value, unit }: PublishedCell): number | undefined {
  if (typeof value !== 'number') return undefined;
  if (unit === 's') return value;
  return unit === 'ms' ? value / 1000 : undefined;
}

function parseCell({ cell, where, oneOf }: CsvRow<Column>): PublishedCell {
  const number = (column: Column): number => {
    const value = Number(cell(column));
    if (cell(column).trim() === '' || !Number.isFinite(value)) {
      const words = column === 'value' ? ` and none of ${OUTCOMES.join(', ')}` : '';
      throw new InputError(where(column), `"${cell(column)}" is not a number${words}`);
    }
    return value;
  };
  const outcome = OUTCOMES.find((word) => word === cell('value'));
  return {
    paper: cell('paper'),
    table: cell('table'),
    row: cell('row'),
    column: cell('column'),
    value: outcome ?? number('value'),
    unit: cell('unit'),
    basis: oneOf('basis', BASES),
    noise: cell('noise') === '' ? undefined : number('noise'),
    noiseFrom: cell('noise_from'),
    use: oneOf('use', USES),
    cluster: cell('cluster'),
    model: cell('model'),
    system: cell('system'),
    metric: cell('metric'),
    note: cell('note'),
  };
}
