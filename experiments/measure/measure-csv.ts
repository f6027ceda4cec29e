import { type CsvValue, toCsv } from '../lib/csv.ts';
import { type CellAnswers, deviation, PHASES } from './cell.ts';

const HEADER = [
  'model',
  'mix',
  'threads',
  'prompt_tokens',
  'metric',
  'measured_seconds',
  'measured_spread',
  'repeats',
  'wall_seconds',
  'wall_spread',
  'predicted_seconds',
  'predicted_error',
  'simulated_seconds',
  'simulated_error',
];

/** A row per cell and metric. */
export function measureCsv(cells: readonly CellAnswers[]): string {
  const rows = cells.flatMap((cell) =>
    PHASES.map((phase): CsvValue[] => {
      const { own, wall } = cell.measured;
      return [
        cell.model.name,
        cell.model.mix,
        cell.threads,
        cell.promptTokens,
        phase,
        own[phase].median,
        own[phase].spread,
        own[phase].repeats,
        wall[phase].median,
        wall[phase].spread,
        cell.predicted[phase],
        deviation(cell, 'predicted', phase),
        cell.simulated[phase],
        deviation(cell, 'simulated', phase),
      ];
    }),
  );
  return toCsv(HEADER, rows);
}
