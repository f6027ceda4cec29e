import {
  createNamedModel,
  type LoadedCluster,
  loadCatalogue,
  loadClusterFile,
  loadMeasuredRuns,
  loadPublished,
  loadRegister,
} from '../../../datasets/load.ts';
import { type Testbed, testbedNamed, trueCluster } from '../../../datasets/testbeds.ts';
import type { Mix } from '../../../engine/model/mix.ts';
import type { Model } from '../../../engine/model/model.ts';
import { loadIntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { compare } from '../comparison.ts';
import { blindCells } from '../groups.ts';
import type { Reproduced } from '../paper.ts';
import { primaAims } from './aims.ts';
import { contradictionsOf } from './contradictions.ts';
import type { PaperFigure, PrimaFigureComparison } from './figures/figure.ts';
import { figureComparisons, figureSummary } from './figures/figures.ts';
import { figureRemarks } from './figures/remarks.ts';
import { createFigureRuns } from './figures/runs.ts';
import type { PrimaOptions } from './options.ts';
import { primaPage } from './report.ts';
import { primaCsv, primaJson } from './results.ts';
import { cellsOf, jobOf, type PrimaComparison, type PrimaInputs, tableRules } from './rules.ts';
import { schedulersMarkdown } from './schedulers.ts';
import { largestMisses, type Sensitivity, sensitivityOf } from './sensitivity.ts';
import { primaSummary, primaSummaryText, type Summary, summarise } from './summary.ts';
import { type PaperTable, PRIMA_TABLES, tableName } from './tables.ts';

/** Time limit of one integer program, seconds; those of a home take well under one second. */
const SOLVER_SECONDS = 20;
/** The testbed of Table 3. */
const HOME = 'prima-home';
/** Number of cells in the table of uncertain inputs. */
const MISSES = 16;

/** Everything about prima.cpp's tables from which the report and the files are made. */
export interface PrimaReproduction {
  readonly tables: readonly PaperTable[];
  readonly comparisons: readonly PrimaComparison[];
  readonly summaries: readonly Summary[];
  readonly sensitivities: readonly Sensitivity[];
  readonly clusters: ReadonlyMap<string, LoadedCluster>;
  readonly options: PrimaOptions;
  readonly figures: readonly PrimaFigureComparison[];
  readonly remarks: ReadonlyMap<PaperFigure, readonly string[]>;
}

/** Predicts and simulates every cell of the requested tables, under every policy of its system. */
export async function computePrima(options: PrimaOptions, step: (label: string) => void): Promise<PrimaReproduction> {
  const tables = PRIMA_TABLES.filter(({ number }) => options.table.includes(number));
  const published = loadPublished();
  const catalogue = loadCatalogue();
  const testbeds = new Map(tables.map(({ testbed }) => [testbed, testbedNamed(testbed)]));
  const clusters = new Map([...testbeds.values()].map(({ belief }) => [belief, loadClusterFile(belief)]));
  const modelOf = (model: string, mix?: Mix): Model =>
    createNamedModel(catalogue, mix === undefined ? model : `${model}:${mix}`);
  const home = trueCluster(testbedNamed(HOME), loadClusterFile(HOME).cluster);
  const contradictions = contradictionsOf(home, published, modelOf);
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  try {
    const inputs = new Map(
      tables.map((table): [PaperTable, PrimaInputs] => {
        const testbed = testbeds.get(table.testbed) as Testbed;
        const { cluster: belief } = clusters.get(testbed.belief) as LoadedCluster;
        const cells = cellsOf(published, table);
        const shared = { published, modelOf, options, contradictions, solver };
        return [table, { table, cells, testbed, belief, ...shared }];
      }),
    );
    const comparisons = compare([...inputs.values()].flatMap(tableRules), step);
    const sensitivities = largestMisses(comparisons, MISSES).flatMap((comparison): Sensitivity[] => {
      const { cell, detail } = comparison;
      const own = inputs.get(detail.table);
      if (detail.policy === undefined || own === undefined) return [];
      step(`what uncertain inputs do to ${cell.row}, ${cell.column}`);
      return [sensitivityOf(comparison, jobOf(own, cell, detail.policy), catalogue, solver)];
    });
    const statedOf = (belief: string) => loadClusterFile(belief).cluster;
    const runs = createFigureRuns({ published, statedOf, modelOf, options, solver });
    const figures = figureComparisons(runs, published, step);
    return {
      figures,
      remarks: figureRemarks(runs, loadMeasuredRuns()),
      tables,
      comparisons,
      summaries: summarise(comparisons, blindCells(loadRegister())),
      sensitivities,
      clusters,
      options,
    };
  } finally {
    solver.dispose();
  }
}

/** Files and text of the command. */
export function primaReproduced(result: PrimaReproduction, seed: number): Reproduced {
  const { comparisons, clusters, options, tables, summaries, figures } = result;
  const settings = { paper: 'prima-cpp', ...options, tables: tables.map(({ number }) => number), seed };
  return {
    comparisons: [...comparisons.filter(({ detail }) => detail.policy !== undefined), ...figures],
    summary: [...primaSummary(summaries, comparisons), ...figureSummary(figures)],
    aims: primaAims(comparisons, figures),
    conflicts: [],
    remarks: [
      ...tables.map((table) => ({ title: `${tableName(table)}: ${table.title}`, texts: table.notes })),
      ...[...result.remarks].map(([{ figure, title }, texts]) => ({ title: `${figure}: ${title}`, texts })),
    ],
    page: primaPage(result),
    clusters: [...clusters.values()],
    csv: primaCsv(comparisons),
    files: { 'schedulers.md': schedulersMarkdown(comparisons) },
    data: primaJson(settings, result),
    text: [primaSummaryText(summaries)],
  };
}
