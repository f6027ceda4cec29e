import { planShares } from '../../../engine/plan/plan.ts';
import { toCsv } from '../../lib/csv.ts';
import type { Comparison } from './rules.ts';

const HEADER = [
  'table',
  'row',
  'column',
  'cluster',
  'model',
  'system',
  'metric',
  'policy',
  'scheduler',
  'published',
  'predicted',
  'simulated',
  'predicted_error',
  'simulated_error',
  'use',
  'target',
  'rounds',
  'layers',
  'why',
  'note',
];

/** cells.csv: a row per cell and policy; times in seconds, memory pressure as a share. */
export function cellsCsv(comparisons: readonly Comparison[]): string {
  return toCsv(
    HEADER,
    comparisons.map(({ cell, policy, execution, ...found }) => [
      cell.table,
      cell.row,
      cell.column,
      cell.cluster,
      cell.model,
      cell.system,
      cell.metric,
      policy?.name,
      policy?.scheduler,
      found.published,
      found.predicted,
      found.simulated,
      found.predictedError,
      found.simulatedError,
      cell.use,
      found.target?.limit,
      execution?.plan?.rounds,
      layers(execution?.plan),
      execution?.why,
      cell.note,
    ]),
  );
}

function layers(plan: Parameters<typeof planShares>[0] | undefined): string | undefined {
  return (
    plan &&
    planShares(plan)
      .map(({ device, cpuLayers, gpuLayers }) => `${device}:${cpuLayers}+${gpuLayers}`)
      .join(' ')
  );
}
