import type { LoadedCluster } from '../../../datasets/load.ts';
import { LARGER_D3 } from './machines.ts';
import { LARGER_DEVICE } from './policies.ts';
import type { Comparison } from './rules.ts';
import { type Sensitivity, UNCERTAIN_INPUTS } from './sensitivity.ts';
import type { Summary } from './summaries.ts';

export interface ReproducedResults {
  readonly settings: Readonly<Record<string, unknown>>;
  readonly comparisons: readonly Comparison[];
  readonly summaries: readonly Summary[];
  readonly sensitivities: readonly Sensitivity[];
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
}

/** cells.json: every cell with its policy and plan, the summaries, and where each input comes from. SI units. */
export function cellsJson({ settings, comparisons, summaries, sensitivities, clusters }: ReproducedResults): string {
  const policies = new Map(
    comparisons.flatMap(({ cell, policy }) =>
      policy ? [[`${cell.system}\n${policy.name}`, { system: cell.system, ...policy }]] : [],
    ),
  );
  const result = {
    experiment: 'reproduce',
    settings,
    fittedTo: [],
    policies: [...policies.values()],
    variants: {
      'd3-larger': {
        device: LARGER_DEVICE,
        availableBytes: LARGER_D3,
        from: 'llama.cpp TPOT at 45B and 60B in Table 4',
      },
    },
    summaries,
    cells: comparisons.map(cellJson),
    sensitivities: sensitivities.map(({ comparison, base, ranges }) => ({
      ...place(comparison),
      base,
      inputs: UNCERTAIN_INPUTS.flatMap(({ name, ends }, index) => {
        const range = ranges[index];
        return range === undefined ? [] : [{ name, ends, results: range }];
      }),
    })),
    provenance: Object.fromEntries([...clusters].map(([name, { statements }]) => [name, statements])),
  };
  return `${JSON.stringify(result, null, 2)}\n`;
}

function cellJson(comparison: Comparison) {
  const { cell, execution, published, predicted, simulated, predictedError, simulatedError, target, contradiction } =
    comparison;
  return {
    ...place(comparison),
    published,
    predicted,
    simulated,
    predictedError,
    simulatedError,
    printed: `${cell.value} ${cell.unit}`,
    noise: cell.noise,
    noiseFrom: cell.noiseFrom,
    use: cell.use,
    target: target?.limit,
    contradiction: contradiction && { bound: contradiction.bound, text: contradiction.text },
    note: cell.note,
    why: execution?.why,
    plan: execution?.plan,
    predictedSeconds: execution?.predicted?.seconds,
    predictedDevices: execution?.predicted?.devices,
  };
}

function place({ cell, policy }: Comparison) {
  const { table, row, column, cluster, model, system, metric } = cell;
  return { table, row, column, cluster, model, system, metric, policy: policy?.name };
}
