import {
  createNamedModel,
  type LoadedCluster,
  loadCatalogue,
  loadClusterFile,
  loadPublished,
} from '../../../datasets/load.ts';
import type { Mix } from '../../../engine/model/mix.ts';
import type { Model } from '../../../engine/model/model.ts';
import { loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { PAPERS, type PrimaOptions } from '../options.ts';
import { contradictionsOf } from './contradictions.ts';
import { trueCluster } from './machines.ts';
import { runtimeOf, workloadOf } from './program.ts';
import { type Comparison, cellsOf, compareTable } from './rules.ts';
import { largestMisses, type Sensitivity, sensitivityOf } from './sensitivity.ts';
import { type Summary, summarise } from './summaries.ts';
import { type PaperTable, PRIMA_TABLES } from './tables.ts';

/** Seconds for one integer program; those of a home take well under one. */
const SOLVER_SECONDS = 20;
/** The devices of Table 3. */
const HOME = 'prima-home';
/** Cells in the table of what uncertain inputs do. */
const MISSES = 16;

/** prima.cpp's tables, with all that the report and the files are made of. */
export interface PrimaReproduction {
  readonly tables: readonly PaperTable[];
  readonly comparisons: readonly Comparison[];
  readonly summaries: readonly Summary[];
  readonly sensitivities: readonly Sensitivity[];
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
  readonly options: PrimaOptions;
}

/**
 * Predicts and simulates every cell of the tables that are asked for, under every policy of its system.
 * @param begin is told how many steps there will be, and returns what is told of each
 */
export async function computePrima(
  options: PrimaOptions,
  begin: (steps: number) => (label: string) => void,
): Promise<PrimaReproduction> {
  const tables = PRIMA_TABLES.filter(({ number }) => options.table.includes(number));
  const published = loadPublished();
  const catalogue = loadCatalogue();
  const clusters = new Map(tables.map(({ cluster }) => [cluster, loadClusterFile(cluster)]));
  const modelOf = (model: string, mix?: Mix): Model =>
    createNamedModel(catalogue, mix === undefined ? model : `${model}:${mix}`);
  const contradictions = contradictionsOf(loadClusterFile(HOME).cluster, published, modelOf);
  const jobs = tables.map((table) => ({ table, cells: cellsOf(published, PAPERS.prima, table) }));
  const step = begin(jobs.reduce((sum, { cells }) => sum + cells.length, MISSES));
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  try {
    const comparisons = jobs.flatMap(({ table, cells }) => {
      const cluster = clusters.get(table.cluster)?.cluster;
      if (cluster === undefined) throw new RangeError(`cluster ${table.cluster} was not loaded`);
      return compareTable({ table, cells, cluster, modelOf, options, contradictions, solver, step });
    });
    const sensitivities = largestMisses(comparisons, MISSES).flatMap((comparison): Sensitivity[] => {
      const { policy, cell, table } = comparison;
      const cluster = clusters.get(table.cluster)?.cluster;
      if (policy === undefined || cluster === undefined) return [];
      const model = modelOf(cell.model, policy.mix);
      step(`what uncertain inputs do to ${cell.row}, ${cell.column}`);
      const truth = trueCluster(cluster, policy.truth);
      const workload = workloadOf(policy.program, options);
      const runtime = runtimeOf(policy.program, table.released, model, workload);
      return [
        sensitivityOf(comparison, { policy, belief: cluster, truth, model, workload, runtime }, catalogue, solver),
      ];
    });
    return { tables, comparisons, summaries: summarise(comparisons), sensitivities, clusters, options };
  } finally {
    solver.dispose();
  }
}
