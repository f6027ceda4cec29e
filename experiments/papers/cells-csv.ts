import { toCsv } from '../lib/csv.ts';
import type { ReproducedCell } from './comparison.ts';

const HEADER = [
  ...['paper', 'table', 'row', 'column', 'policy', 'unit', 'published', 'predicted', 'predicted_error'],
  ...['simulated', 'simulated_error', 'noise', 'use', 'target'],
];

/** cells.csv: a row per cell and policy; values in the unit of the row, errors as shares of the published value. */
export function cellsCsv(cells: readonly ReproducedCell[]): string {
  return toCsv(
    HEADER,
    cells.map((one) => [
      ...[one.paper, one.table, one.row, one.column, one.policy, one.unit, one.published, one.predicted],
      ...[one.predictedError, one.simulated, one.simulatedError, one.noise, one.use, one.target],
    ]),
  );
}
