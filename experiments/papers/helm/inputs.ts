import {
  createNamedModel,
  type LoadedCluster,
  loadCatalogue,
  loadClusterFile,
  loadPublished,
} from '../../../datasets/load.ts';
import { findPublished, type PublishedCell } from '../../../datasets/published.ts';
import type { Model } from '../../../engine/model/model.ts';
import type { HelmCase } from './answer.ts';
import { helmQuantity } from './quantities.ts';
import { helmSystem } from './systems.ts';

const HELM_MACHINES = ['helm-4060', 'helm-3090', 'helm-l40s'] as const;
/** The machine whose file has the bandwidth that HELM's profiler measured (4.1.2). */
const PROFILED = 'helm-4060';

/** What the thesis prints, and what its cells are about. */
export interface HelmInputs {
  readonly cells: readonly PublishedCell[];
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
  readonly modelOf: (name: string) => Model;
  /** undefined: no model of the system. @throws RangeError for a cell that is about no system on a machine */
  readonly caseOf: (cell: PublishedCell) => HelmCase | undefined;
}

/** Loads machines, models and cells. */
export function helmInputs(): HelmInputs {
  const cells = loadPublished().filter(({ paper }) => paper === 'helm');
  const clusters = new Map(HELM_MACHINES.map((name) => [name as string, loadClusterFile(name)]));
  const catalogue = loadCatalogue();
  const models = new Map<string, Model>();
  const modelOf = (name: string): Model => {
    const model = models.get(name) ?? createNamedModel(catalogue, name);
    models.set(name, model);
    return model;
  };
  const caseOf = (cell: PublishedCell): HelmCase | undefined => {
    const quantity = helmQuantity(cell);
    const cluster = clusters.get(cell.cluster)?.cluster;
    if (quantity === undefined || cluster === undefined) {
      throw new RangeError(`${cell.table}, ${cell.row}, ${cell.column} is about no system on a machine`);
    }
    const system = helmSystem(cell.system);
    const specifiedBandwidth = quantity.machine === PROFILED ? undefined : gpuBandwidth(cells, quantity.machine);
    return system && { quantity, system, cluster, model: modelOf(cell.model), specifiedBandwidth };
  };
  return { cells, clusters, modelOf, caseOf };
}

/** Bytes per second of the GPU's memory, by §5.1. */
function gpuBandwidth(cells: readonly PublishedCell[], machine: string): number {
  const cell = findPublished(cells, { cluster: machine, metric: 'bandwidth' }).find(({ table }) => table === '§5.1');
  if (typeof cell?.value !== 'number') throw new RangeError(`§5.1 has no bandwidth of ${machine}`);
  return cell.value * 1e9;
}
