import type { LoadedCluster } from '../../../datasets/load.ts';
import type { SummaryRow } from '../comparison.ts';
import { calibrate, fittedCell } from './calibrate.ts';
import { type HelmConflict, helmConflicts } from './conflicts.ts';
import type { HelmConstants } from './constants.ts';
import { FITTED_CELLS } from './fitted-cells.ts';
import { type HostNeeds, hostNeeds, type NeedGrowth, needGrowth } from './host-needs.ts';
import { type HelmInputs, helmInputs } from './inputs.ts';
import { compareHelm, type HelmComparison } from './rules.ts';
import { type Speedup, speedups } from './speedups.ts';
import { type SplitCheck, splitChecks } from './splits.ts';
import { helmSummary } from './summary.ts';

/** HELM's cells, with all that the report and the files are made of. */
export interface HelmReproduction {
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
  readonly constants: HelmConstants;
  readonly comparisons: readonly HelmComparison[];
  readonly splits: readonly SplitCheck[];
  readonly speedups: readonly Speedup[];
  readonly summary: readonly SummaryRow[];
  readonly conflicts: readonly HelmConflict[];
}

/** Fits what nothing states, and compares every cell. */
export function computeHelm(step: (label: string) => void): HelmReproduction {
  const { cells, clusters, modelOf, caseOf } = helmInputs();
  const fitted = FITTED_CELLS.flatMap(({ cells: places }) => places.map((place) => fittedCell(cells, place)));
  const constants = calibrate(cells, (cell) => {
    const one = caseOf(cell);
    if (one === undefined) throw new RangeError(`${cell.system} isn't modelled, so nothing is fitted to it`);
    return one;
  });
  const comparisons = compareHelm({ cells, constants, fitted, caseOf, step });
  const splits = splitChecks(
    cells,
    (name) => {
      const cluster = clusters.get(name)?.cluster;
      if (cluster === undefined) throw new RangeError(`${name} is no machine of the thesis`);
      return cluster;
    },
    modelOf,
  );
  const gains = speedups(cells, comparisons);
  return {
    clusters,
    constants,
    comparisons,
    splits,
    speedups: gains,
    summary: helmSummary(comparisons, splits, gains),
    conflicts: helmConflicts(comparisons, constants, offloadingGrowth(comparisons, caseOf)),
  };
}

/** Accelerate’s needs of RAM from the 8B on the laptop, which runs, to the 32B on the 3090, which doesn’t. */
function offloadingGrowth(comparisons: readonly HelmComparison[], caseOf: HelmInputs['caseOf']): NeedGrowth {
  const needsOf = (row: string): HostNeeds => {
    const { cell, plan } =
      comparisons.find(({ cell: { table, row: own, column } }) => {
        return table === 'Table 6.1' && own === row && column === 'Accelerate tok/s';
      }) ?? {};
    const one = cell && caseOf(cell);
    if (one === undefined || plan?.outcome !== 'runs') throw new RangeError(`Accelerate has no plan for ${row}`);
    return hostNeeds(one, plan.plan);
  };
  return needGrowth(needsOf('4060 / Qwen3-8B'), needsOf('3090 / Qwen3-32B'));
}
