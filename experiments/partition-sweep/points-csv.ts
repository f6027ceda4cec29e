import { appendFileSync, closeSync, openSync, renameSync } from 'node:fs';
import { type CsvValue, toCsv } from '../report/csv.ts';
import type { Point } from './points-file.ts';
import type { Space } from './space.ts';

/** Number of lines written at once. */
const LINES = 1000;

/**
 * Writes the points of a sweep as a CSV file, a line per plan in the order of their numbers, without holding all in
 * memory.
 */
export function writePointsCsv(path: string, points: Iterable<Point>, space: Space, devices: readonly string[]): void {
  const beside = `${path}.${process.pid}.tmp`;
  const file = openSync(beside, 'w');
  const columns = devices.flatMap((name) => [`${name}_window`, `${name}_gpu_layers`]);
  const head: CsvValue[] = ['plan', 'rounds', 'output', 'policy', ...columns, 'tpot_s', 'predicted_s', 'failed'];
  let rows = [head];
  const flush = (): void => {
    const [first = [], ...others] = rows;
    appendFileSync(file, toCsv(first.map(String), others));
    rows = [];
  };
  for (const point of points) {
    const { rounds, output, policy, windows, gpuLayers } = space.at(point.plan);
    const result = 'failed' in point ? ['', '', point.failed] : [point.seconds, point.predicted, ''];
    rows.push([
      point.plan,
      rounds,
      output,
      policy,
      ...windows.flatMap((layers, at) => [layers, gpuLayers[at]]),
      ...result,
    ]);
    if (rows.length === LINES) flush();
  }
  if (rows.length > 0) flush();
  closeSync(file);
  renameSync(beside, path);
}
