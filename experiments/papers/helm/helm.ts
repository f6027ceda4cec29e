import {
  createHelmModel,
  type LoadedCluster,
  loadCatalogue,
  loadClusterFile,
  loadPublished,
  loadRegister,
} from '../../../datasets/load.ts';
import { findPublished, type PublishedCell } from '../../../datasets/published.ts';
import type { Model } from '../../../engine/model/model.ts';
import { terminalTable } from '../../report/columns.ts';
import { type Comparison, type Conflict, compare } from '../comparison.ts';
import { blindCells } from '../groups.ts';
import type { Reproduced } from '../paper.ts';
import { cellJson, cellsCsv } from '../record.ts';
import { type SummaryRow, summaryTable } from '../summary.ts';
import { helmAims } from './aims.ts';
import type { HelmCase } from './answer.ts';
import { calibrate, fittedCell } from './calibrate.ts';
import { helmConflicts } from './conflicts.ts';
import { FITTED_CELLS, type HelmConstants } from './constants.ts';
import { contextComparisons } from './contexts.ts';
import { derivedComparisons } from './derived.ts';
import { helmQuantity } from './quantities.ts';
import { rateComparisons } from './rates.ts';
import { scalings } from './ratios.ts';
import { helmRemarks } from './remarks.ts';
import { helmPage } from './report.ts';
import { helmRules } from './rules.ts';
import { splitChecks, splitComparisons } from './splits.ts';
import { type HelmResults, helmSummary } from './summary.ts';
import { helmSystem } from './systems.ts';

export const HELM_MACHINES = ['helm-4060', 'helm-3090', 'helm-l40s'] as const;
/** The machine whose file has the bandwidth that HELM's profiler measured (4.1.2). */
const PROFILED = 'helm-4060';

/** Everything about HELM's cells from which the report and the files are made. */
export interface HelmReproduction extends HelmResults {
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
  readonly constants: HelmConstants;
  readonly summary: readonly SummaryRow[];
  readonly conflicts: readonly Conflict[];
  readonly remarks: Reproduced['remarks'];
}

/** Fits the constants that no source states, and compares every cell. */
export function computeHelm(step: (label: string) => void): HelmReproduction {
  const { cells, clusters, clusterOf, modelOf, caseOf } = helmInputs();
  const { fitted, constants } = fitHelm({ cells, caseOf });
  const comparisons = compare(helmRules({ cells, constants, fitted, caseOf }), step);
  const contexts = contextComparisons({ cells, clusterOf, modelOf });
  const results = {
    comparisons,
    splits: splitChecks(cells, clusterOf, modelOf),
    scalings: scalings(comparisons),
    contexts,
    units: splitComparisons(cells, clusterOf, modelOf),
    derived: derivedComparisons({ cells, comparisons, contexts }),
    rates: rateComparisons(cells, constants),
  };
  return {
    clusters,
    constants,
    ...results,
    summary: helmSummary(results),
    conflicts: helmConflicts({ ...results, cells, constants }),
    remarks: helmRemarks({ cells, constants, caseOf, clusterOf }),
  };
}

/** The constants, and the cells that they are fitted to. */
export function fitHelm({ cells, caseOf }: Pick<HelmInputs, 'cells' | 'caseOf'>): {
  readonly fitted: readonly PublishedCell[];
  readonly constants: HelmConstants;
} {
  const fitted = FITTED_CELLS.flatMap(({ cells: places }) => places.map((place) => fittedCell(cells, place)));
  const constants = calibrate(cells, (cell) => {
    const one = caseOf(cell);
    if (one === undefined) throw new RangeError(`${cell.system} isn’t modelled, so nothing is fitted to it`);
    return one;
  });
  return { fitted, constants };
}

/** The thesis's cells with their systems, models and machines. */
export interface HelmInputs {
  readonly cells: readonly PublishedCell[];
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
  readonly clusterOf: (name: string) => LoadedCluster['cluster'];
  readonly modelOf: (name: string) => Model;
  /** undefined: no model of the system. @throws RangeError for a cell that is about no system on a machine */
  readonly caseOf: (cell: PublishedCell) => HelmCase | undefined;
}

/** @param machineOf the machine of a name, as its file has it unless given */
export function helmInputs(machineOf: (name: string) => LoadedCluster = loadClusterFile): HelmInputs {
  const cells = loadPublished().filter(({ paper }) => paper === 'helm');
  const clusters = new Map(HELM_MACHINES.map((name) => [name as string, machineOf(name)]));
  const clusterOf = (name: string): LoadedCluster['cluster'] => {
    const cluster = clusters.get(name)?.cluster;
    if (cluster === undefined) throw new RangeError(`${name} is no machine of the thesis`);
    return cluster;
  };
  const catalogue = loadCatalogue();
  const models = new Map<string, Model>();
  const modelOf = (name: string): Model => {
    const model = models.get(name) ?? createHelmModel(catalogue, name);
    models.set(name, model);
    return model;
  };
  const caseOf = (cell: PublishedCell): HelmCase | undefined => {
    const quantity = helmQuantity(cell);
    if (quantity === undefined) {
      throw new RangeError(`${cell.table}, ${cell.row}, ${cell.column} is about no system on a machine`);
    }
    const system = helmSystem(cell.system);
    const cluster = clusterOf(cell.cluster);
    const specifiedBandwidth = quantity.machine === PROFILED ? undefined : gpuBandwidth(cells, quantity.machine);
    return system && { quantity, system, cluster, model: modelOf(cell.model), specifiedBandwidth };
  };
  return { cells, clusters, clusterOf, modelOf, caseOf };
}

/** Bytes per second of the GPU's memory, by §5.1. */
function gpuBandwidth(cells: readonly PublishedCell[], machine: string): number {
  const cell = findPublished(cells, { cluster: machine, metric: 'bandwidth' }).find(({ table }) => table === '§5.1');
  if (typeof cell?.value !== 'number') throw new RangeError(`§5.1 has no bandwidth of ${machine}`);
  return cell.value * 1e9;
}

/** Every compared cell, with ratios of batches next to the throughputs that they are made of. */
export function allComparisons(
  result: Omit<HelmReproduction, 'clusters' | 'summary' | 'conflicts' | 'remarks'>,
): Comparison[] {
  const { comparisons, scalings, contexts, units, derived, rates } = result;
  return [...comparisons, ...scalings, ...contexts, ...units, ...derived, ...rates];
}

/** Files and text of the command; cells.json has values in the units that they are printed in. */
export function helmReproduced(result: HelmReproduction): Reproduced {
  const { comparisons, constants, splits, summary, conflicts, clusters } = result;
  const all = allComparisons(result);
  return {
    comparisons: all,
    summary,
    aims: helmAims(result),
    conflicts,
    remarks: result.remarks,
    page: helmPage(result),
    clusters: [...clusters.values()],
    csv: cellsCsv(all, blindCells(loadRegister())),
    data: {
      experiment: 'reproduce',
      paper: 'helm',
      constants,
      fitted: FITTED_CELLS,
      splits,
      summary,
      cells: comparisons.map((one) => {
        const { quantity, thesis, range, plan } = one.detail;
        return {
          ...cellJson(one),
          quantity,
          thesis,
          printedRange: range,
          ...(plan?.outcome === 'runs' ? { plan: plan.plan } : { why: plan?.why ?? 'not modelled' }),
        };
      }),
      conflicts,
      provenance: Object.fromEntries([...clusters].map(([name, { statements }]) => [name, statements])),
    },
    text: [terminalTable(summaryTable(summary), 150)],
  };
}
