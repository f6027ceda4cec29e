import type { LoadedCluster } from '../../../datasets/load.ts';
import { TESTBEDS } from '../../../datasets/testbeds.ts';
import { type Plan, planShares } from '../../../engine/plan/plan.ts';
import { type Column, tableCsv } from '../../report/columns.ts';
import type { PrimaComparison } from './rules.ts';
import { type Sensitivity, UNCERTAIN_INPUTS } from './sensitivity.ts';
import type { Summary } from './summary.ts';

/** A row per cell and policy; times in seconds, memory pressure as a share. */
const COLUMNS: readonly Column<PrimaComparison>[] = [
  { key: 'table', value: ({ cell }) => cell.table },
  { key: 'row', value: ({ cell }) => cell.row },
  { key: 'column', value: ({ cell }) => cell.column },
  { key: 'cluster', value: ({ cell }) => cell.cluster },
  { key: 'model', value: ({ cell }) => cell.model },
  { key: 'system', value: ({ cell }) => cell.system },
  { key: 'metric', value: ({ cell }) => cell.metric },
  { key: 'policy', value: ({ policy }) => policy },
  { key: 'scheduler', value: ({ detail }) => detail.policy?.planner },
  { key: 'published', value: ({ published }) => published },
  { key: 'predicted', value: ({ predicted }) => predicted },
  { key: 'simulated', value: ({ simulated }) => simulated },
  { key: 'predicted_error', value: ({ predictedError }) => predictedError },
  { key: 'simulated_error', value: ({ simulatedError }) => simulatedError },
  { key: 'digits_low', value: ({ detail }) => detail.digits?.[0] },
  { key: 'digits_high', value: ({ detail }) => detail.digits?.[1] },
  { key: 'use', value: ({ use }) => use },
  { key: 'target', value: ({ target }) => target },
  { key: 'rounds', value: ({ detail }) => detail.execution?.plan?.rounds },
  { key: 'layers', value: ({ detail }) => layersOf(detail.execution?.plan) },
  { key: 'why', value: ({ detail }) => detail.execution?.why },
  { key: 'note', value: ({ cell }) => cell.note },
];

/** The text of cells.csv. */
export function primaCsv(comparisons: readonly PrimaComparison[]): string {
  return tableCsv({ columns: COLUMNS, rows: comparisons });
}

/** `D3:12+30 D1:5+0`: layers on CPU and GPU by device. */
function layersOf(plan: Plan | undefined): string | undefined {
  return (
    plan &&
    planShares(plan)
      .map(({ device, cpuLayers, gpuLayers }) => `${device}:${cpuLayers}+${gpuLayers}`)
      .join(' ')
  );
}

interface ReproducedResults {
  readonly comparisons: readonly PrimaComparison[];
  readonly summaries: readonly Summary[];
  readonly sensitivities: readonly Sensitivity[];
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
}

/** cells.json: every cell with its policy and plan, the summaries, and where each input comes from. SI units. */
export function primaJson(settings: Readonly<Record<string, unknown>>, results: ReproducedResults) {
  const { comparisons, summaries, sensitivities, clusters } = results;
  const policies = new Map(
    comparisons.flatMap(({ cell: { system }, detail: { policy } }) =>
      policy === undefined ? [] : [[`${system}\n${policy.name}`, { system, ...policy }] as const],
    ),
  );
  return {
    experiment: 'reproduce',
    settings,
    fittedTo: [...new Set(comparisons.flatMap(({ cell, detail }) => (detail.seen ? [cell] : [])))].map(
      ({ table, row, column }) => ({ table, row, column }),
    ),
    policies: [...policies.values()],
    testbeds: TESTBEDS.filter(({ belief }) => clusters.has(belief)),
    summaries,
    cells: comparisons.map(cellJson),
    sensitivities: sensitivities.map(({ comparison, base, ranges }) => ({
      ...placeOf(comparison),
      base,
      inputs: UNCERTAIN_INPUTS.flatMap(({ name, ends }, index) => {
        const range = ranges[index];
        return range === undefined ? [] : [{ name, ends, results: range }];
      }),
    })),
    provenance: Object.fromEntries([...clusters].map(([name, { statements }]) => [name, statements])),
  };
}

function cellJson(comparison: PrimaComparison) {
  const { cell, published, predicted, simulated, predictedError, simulatedError, target, detail } = comparison;
  const { contradiction, execution } = detail;
  return {
    ...placeOf(comparison),
    published,
    predicted,
    simulated,
    predictedError,
    simulatedError,
    printed: `${cell.value} ${cell.unit}`,
    noise: cell.noise,
    noiseFrom: cell.noiseFrom,
    use: comparison.use,
    target,
    contradiction: contradiction && { bound: contradiction.bound, text: contradiction.text },
    note: cell.note,
    why: execution?.why,
    plan: execution?.plan,
    predictedSeconds: execution?.predicted?.seconds,
    predictedDevices: execution?.predicted?.devices,
  };
}

function placeOf({ cell, detail }: PrimaComparison) {
  const { table, row, column, cluster, model, system, metric } = cell;
  return { table, row, column, cluster, model, system, metric, policy: detail.policy?.name };
}
