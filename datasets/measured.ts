import { InputError } from '../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../engine/input/parse-csv.ts';

const COLUMNS = [
  'program',
  'flags',
  'prefetch',
  'rounds',
  'windows',
  'memory_share',
  'token_s',
  'read_gb',
  'source',
] as const;

/**
 * A run of a ring that was measured once and can't be measured by a test: four devices with a model of 2.2 GB in F16 and
 * 32 layers, disks of 200 MB/s with 8 MiB of readahead.
 */
export interface MeasuredRun {
  readonly program: 'prima.cpp' | 'Hearth';
  /** How the program was called, as printed in tables. */
  readonly flags: string;
  /**
   * `touched`: prima.cpp's `--force`, which reads every page of the next window after the advice, and Hearth's emulation
   * of it; `pinned`: Hearth's own way.
   */
  readonly prefetch: 'none' | 'willneed-whole' | 'touched' | 'pinned';
  readonly rounds: number;
  /** Layers of each device's window, in ring order. */
  readonly windows: readonly number[];
  /** Memory of each device, as a share of a quarter of the weights; `undefined`: as much as is wanted. */
  readonly memoryShare: number | undefined;
  readonly tokenSeconds: number;
  /** Bytes read for a token, by all devices. */
  readonly readBytes: number;
  readonly source: string;
}

/** @param file name for messages @throws InputError with file, row and column */
export function parseMeasuredRuns(text: string, file: string): MeasuredRun[] {
  return parseCsv(text, file, COLUMNS).map((row) => ({
    program: row.oneOf('program', ['prima.cpp', 'Hearth']),
    flags: row.cell('flags'),
    prefetch: row.oneOf('prefetch', ['none', 'willneed-whole', 'touched', 'pinned']),
    rounds: numberOf(row, 'rounds'),
    windows: row.cell('windows').split(' ').map(Number),
    memoryShare: row.cell('memory_share') === '' ? undefined : numberOf(row, 'memory_share'),
    tokenSeconds: numberOf(row, 'token_s'),
    readBytes: 1e9 * numberOf(row, 'read_gb'),
    source: row.cell('source'),
  }));
}

function numberOf(row: CsvRow<(typeof COLUMNS)[number]>, column: (typeof COLUMNS)[number]): number {
  const value = Number(row.cell(column));
  if (row.cell(column) !== '' && value >= 0) return value;
  throw new InputError(row.where(column), `"${row.cell(column)}" is not a number`);
}
