import { CAUSES } from '../../engine/cost/breakdown.ts';
import { planShares } from '../../engine/plan/plan.ts';
import { type CsvValue, toCsv } from '../lib/csv.ts';
import { type ClusterResults, placeOf, planOf, planPath } from './results.ts';
import type { SweepRow } from './sweep.ts';
import { publishedRatio } from './table.ts';

const HEADER = [
  'cluster',
  'model',
  'mix',
  'model_bytes',
  'scheduler',
  'status',
  'tpot_s',
  'rounds',
  'layers',
  'ram_bytes',
  'vram_bytes',
  'reloaded_bytes',
  ...CAUSES.map((cause) => `${snakeCase(cause)}_s`),
  'published_value',
  'published_unit',
  'published_in',
  'published_use',
  'predicted_over_published',
  'message',
  'plan',
];

/** results.csv: a row per run, SI units. */
export function resultsCsv(results: readonly ClusterResults[]): string {
  return toCsv(
    HEADER,
    results.flatMap(({ rows }) => rows.map(csvRow)),
  );
}

/** timing.csv: seconds that each scheduler took on this machine. */
export function timingCsv(results: readonly ClusterResults[]): string {
  const rows = results.flatMap((result) => result.rows);
  return toCsv(
    ['cluster', 'model', 'scheduler', 'planning_s'],
    rows.map((row) => [row.cluster, row.model.label, row.scheduler, row.planningSeconds]),
  );
}

function csvRow(row: SweepRow): CsvValue[] {
  const { outcome, published, model } = row;
  const planned = outcome.status === 'planned' ? outcome : undefined;
  const plan = planOf(outcome);
  const cell = published?.cell;
  return [
    row.cluster,
    model.label,
    model.model.mix,
    model.model.bytes,
    row.scheduler,
    outcome.status,
    planned?.breakdown.tokenSeconds,
    plan?.rounds,
    plan &&
      planShares(plan)
        .map(({ device, cpuLayers, gpuLayers }) => `${device}:${cpuLayers}+${gpuLayers}`)
        .join(' '),
    planned?.memory.ramBytes,
    planned?.memory.vramBytes,
    planned?.breakdown.reloadedBytes,
    ...CAUSES.map((cause) => planned?.breakdown.seconds[cause]),
    cell?.value,
    cell?.unit,
    cell && placeOf(cell),
    cell?.use,
    publishedRatio(row),
    outcome.status === 'planned' ? undefined : outcome.message,
    plan === undefined || row.scheduler === 'hand' ? undefined : planPath(row),
  ];
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
