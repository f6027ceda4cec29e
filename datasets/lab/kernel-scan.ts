import { InputError } from '../../engine/input/input-error.ts';
import { type CsvRow, parseCsv } from '../../engine/input/parse-csv.ts';

/** Columns of datasets/measured/kernel-scan.csv, which experiments/kernel-scan.ts writes. */
export const SCAN_COLUMNS = ['limit', 'token', 'extent', 'resident'] as const;

/** Extents of the scanned file; a token uses each of them once, in order. */
export const SCAN_EXTENTS = 96;

/** One use of an extent by the real kernel's page cache. */
export interface ScanMoment {
  readonly token: number;
  readonly extent: number;
  /** Ranges of which at least half was in memory after the use, extents. */
  readonly resident: readonly { readonly from: number; readonly to: number }[];
}

/** A file scanned again and again in a group with too little memory, as measured by mincore. */
export interface RecordedScan {
  /** Memory that the process was given for the file, as a share of it. */
  readonly limit: number;
  /** The most of the file that was in memory at a time, as a share of it: its process freed some of its own memory. */
  readonly room: number;
  readonly moments: readonly ScanMoment[];
  /** Share of the file that each token read. */
  readonly read: readonly number[];
}

/** @param file name for messages @throws InputError with file, row and column */
export function parseKernelScans(text: string, file: string): RecordedScan[] {
  const byLimit = new Map<number, ScanMoment[]>();
  for (const row of parseCsv(text, file, SCAN_COLUMNS)) {
    const limit = numberOf(row, 'limit');
    const moments = byLimit.get(limit) ?? [];
    byLimit.set(limit, moments);
    moments.push({
      token: numberOf(row, 'token'),
      extent: numberOf(row, 'extent'),
      resident: row.cell('resident').split(' ').filter(Boolean).map(rangeOf),
    });
  }
  return [...byLimit].map(([limit, moments]) => recordedScan(limit, moments));
}

/** `12-47` */
function rangeOf(text: string): { from: number; to: number } {
  const [from = 0, to = 0] = text.split('-').map(Number);
  return { from, to };
}

/** The scan of these moments: an extent that is in memory and wasn't a moment before has been read. */
export function recordedScan(limit: number, moments: readonly ScanMoment[]): RecordedScan {
  const read: number[] = [];
  let before = new Set<number>();
  let most = 0;
  for (const { token, resident } of moments) {
    const now = new Set(resident.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, at) => from + at)));
    const arrived = [...now].filter((extent) => !before.has(extent)).length;
    read[token] = (read[token] ?? 0) + arrived / SCAN_EXTENTS;
    most = Math.max(most, now.size);
    before = now;
  }
  return { limit, room: most / SCAN_EXTENTS, moments, read };
}

function numberOf(row: CsvRow<(typeof SCAN_COLUMNS)[number]>, column: (typeof SCAN_COLUMNS)[number]): number {
  const value = Number(row.cell(column));
  if (row.cell(column) !== '' && value >= 0) return value;
  throw new InputError(row.where(column), `"${row.cell(column)}" is not a number`);
}
