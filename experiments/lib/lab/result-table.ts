import { formatBytes, formatDeviation, formatSeconds } from '../../../engine/terminal/format.ts';
import type { ReportColumn } from '../report.ts';
import { policyName } from './lab-cell.ts';
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
    `${each(memoryShares.map((share) => Math.round(100 * share)))}\u00a0%`,
    `${each(diskRates.map((rate) => Math.round(rate / 1e6)))}\u00a0MB/s`,
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
