import { createNamedModel, loadCatalogue, loadClusterFile, loadPublished } from '../../../datasets/load.ts';
import type { Mix } from '../../../engine/model/mix.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload } from '../../../engine/model/workload.ts';
import { loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { createProgress } from '../../../engine/terminal/progress.ts';
import { wrapText } from '../../../engine/terminal/table.ts';
import { renderReport } from '../report.ts';
import { checkOutput, writeFiles } from '../write.ts';
import { type Comparison, cellsOf, compareTable } from './comparisons.ts';
import { cellsCsv } from './csv.ts';
import { PAPERS, primaOptions, type ReproduceOptions } from './options.ts';
import { reproductionReport } from './report.ts';
import { cellsJson } from './results.ts';
import { largestMisses, type Sensitivity, sensitivityOf } from './sensitivity.ts';
import { summarise } from './summaries.ts';
import { PRIMA_TABLES } from './tables.ts';
import { summaryTable } from './terminal.ts';
import { withLargerD3 } from './variants.ts';

/** Seconds for one integer program; those of a home take well under one. */
const SOLVER_SECONDS = 20;
/** Cells in the table of what uncertain inputs do. */
const MISSES = 16;

/** `reproduce prima`: tables of prima.cpp, predicted, simulated and published; writes report, CSV and JSON to `out`. */
export async function reproducePrima(out: string, given: ReproduceOptions): Promise<void> {
  const options = primaOptions(given);
  const paper = PAPERS.prima;
  checkOutput(out);
  const tables = PRIMA_TABLES.filter(({ number }) => options.table.includes(number));
  const published = loadPublished();
  const catalogue = loadCatalogue();
  const clusters = new Map(tables.map(({ cluster }) => [cluster, loadClusterFile(cluster)]));
  const modelOf = (model: string, mix?: Mix): Model =>
    createNamedModel(catalogue, mix === undefined ? model : `${model}:${mix}`);
  const workload = createWorkload({
    promptTokens: options.prompt,
    outputTokens: options.tokens,
    context: options.context,
    reservedContext: options.reserved,
  });
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  const jobs = tables.map((table) => ({ table, cells: cellsOf(published, paper, table) }));
  const progress = createProgress(jobs.reduce((sum, { cells }) => sum + cells.length, MISSES));
  let comparisons: Comparison[];
  let sensitivities: Sensitivity[];
  try {
    comparisons = jobs.flatMap(({ table, cells }) => {
      const cluster = clusters.get(table.cluster)?.cluster;
      if (cluster === undefined) throw new RangeError(`cluster ${table.cluster} was not loaded`);
      return compareTable({ table, cells, cluster, modelOf, workload, solver, step: progress.step });
    });
    sensitivities = largestMisses(comparisons, MISSES).flatMap((comparison): Sensitivity[] => {
      const { policy, cell, table } = comparison;
      const cluster = clusters.get(table.cluster)?.cluster;
      if (policy === undefined || cluster === undefined) return [];
      const model = modelOf(cell.model, policy.mix);
      progress.step(`what uncertain inputs do to ${cell.row}, ${cell.column}`);
      const truth = policy.truth === 'stated' ? cluster : withLargerD3(cluster);
      return [sensitivityOf(comparison, { policy, belief: cluster, truth, model, workload }, catalogue, solver)];
    });
  } finally {
    progress.stop();
    solver.dispose();
  }
  const summaries = summarise(comparisons);
  const settings = { paper, tables: tables.map(({ number }) => number), workload, seed: given.seed };
  const json = cellsJson({ settings, comparisons, summaries, sensitivities, clusters });
  const report = reproductionReport({ tables, comparisons, summaries, sensitivities, clusters, workload });
  writeFiles(
    out,
    new Map([
      ['report.html', renderReport(report)],
      ['cells.csv', cellsCsv(comparisons)],
      ['cells.json', json],
    ]),
  );
  if (given.json) {
    process.stdout.write(json);
    return;
  }
  process.stdout.write(`${report.subtitle}\n\n${summaryTable(summaries)}\n`);
  process.stdout.write(
    `${wrapText(report.summary, 118).join('\n')}\nReport: ${out}/report.html (beside it cells.csv, cells.json)\n`,
  );
}
