import { formatBytes, formatDeviation, formatSeconds } from '../../engine/terminal/format.ts';
import type { ReportColumn, TableBlock, Tone } from '../lib/report.ts';
import { policyName } from './cell.ts';
import type { CellResult } from './run-cell.ts';

const right = (title: string): ReportColumn => ({ title, align: 'right' });

/** Columns of the three answers to a cell: time and bytes of a token, and how long processors waited. */
export const RESULT_COLUMNS: readonly ReportColumn[] = [
  { title: 'policy', label: true },
  right('k'),
  right('windows'),
  right('in memory'),
  right('disk'),
  right('measured TPOT'),
  right('simulated'),
  right('error'),
  right('predicted'),
  right('error'),
  right('measured bytes'),
  right('simulated'),
  right('error'),
  right('measured stall'),
  right('simulated'),
];

export function resultRow({ cell, predicted, simulated, measured }: CellResult): string[] {
  const { rounds, windows, memoryShares, diskRates } = cell;
  const each = (values: readonly (string | number)[]): string => [...new Set(values)].join('/');
  const off = (found: number, real: number): string => (real === 0 ? '' : formatDeviation(found / real));
  return [
    policyName(cell),
    String(rounds),
    each(windows),
    `${each(memoryShares.map((share) => Math.round(100 * share)))} %`,
    `${each(diskRates.map((rate) => Math.round(rate / 1e6)))} MB/s`,
    formatSeconds(measured.seconds),
    formatSeconds(simulated.seconds),
    off(simulated.seconds, measured.seconds),
    formatSeconds(predicted.seconds),
    off(predicted.seconds, measured.seconds),
    formatBytes(measured.bytes),
    formatBytes(simulated.bytes),
    off(simulated.bytes, measured.bytes),
    formatSeconds(measured.stall),
    formatSeconds(simulated.stall),
  ];
}

/** What the simulator aims at: errors as shares. */
export interface Aim {
  readonly median: number;
  readonly worst: number;
}

/** The columns for a page, which has no room for all side by side: what was run, and a part of what was found. */
const CELL = [0, 1, 2, 3, 4];
const TIMES = [...CELL, 5, 6, 7, 8, 9];
const READS = [...CELL, 10, 11, 12, 13, 14];

/** @param aim errors are coloured by it; without it, they aren't */
export function resultTables(results: readonly CellResult[], aim?: Aim): TableBlock[] {
  const rows = results.map(resultRow);
  const tones = aim && results.map((result) => resultTones(result, aim));
  const table = (title: string, columns: readonly number[]): TableBlock => {
    const pick = <Cell>(row: readonly Cell[]): Cell[] => columns.map((column) => row[column] as Cell);
    const coloured = tones && { tones: tones.map(pick) };
    return { kind: 'table', title, columns: pick(RESULT_COLUMNS), rows: rows.map(pick), groups: true, ...coloured };
  };
  return [table('Time per output token', TIMES), table('What is read for a token, and waited for', READS)];
}

/** How good each answer in the row is: within the median that is aimed at, within the worst, beyond. */
function resultTones({ predicted, simulated, measured }: CellResult, aim: Aim): (Tone | undefined)[] {
  const tone = (found: number, real: number): Tone | undefined => {
    if (real === 0) return undefined;
    const error = Math.abs(found / real - 1);
    return error <= aim.median ? 'good' : error <= aim.worst ? 'fair' : 'bad';
  };
  // In the order of the columns called `error`.
  const tones = [
    tone(simulated.seconds, measured.seconds),
    tone(predicted.seconds, measured.seconds),
    tone(simulated.bytes, measured.bytes),
  ];
  return RESULT_COLUMNS.map(({ title }) => (title === 'error' ? tones.shift() : undefined));
}
