import { createNamedModel, loadCatalogue, loadClusterFile, loadPlan, loadPublished } from '../datasets/load.ts';
import type { Statement } from '../datasets/statements.ts';
import { type Cluster, withDevices } from '../engine/hardware/cluster.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import type { CatalogueModel } from '../engine/model/parse-models.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { type IntegerSolver, loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { runExperiment } from './lib/cli.ts';
import { createProgress, type Progress } from './lib/progress.ts';
import { renderReport } from './lib/report.ts';
import { type SweepCase, type SweptModel, sweepCluster } from './lib/sweep.ts';
import { findings } from './lib/sweep-findings.ts';
import { SUBSETS_BY_DEFAULT, type SweepOptions, sweepOptions } from './lib/sweep-options.ts';
import { type ReportedCluster, sweepReport } from './lib/sweep-report.ts';
import { fileName, planFiles, resultsCsv, resultsJson, timingCsv } from './lib/sweep-results.ts';
import { subsetsWithHead, sweepSubsets } from './lib/sweep-subsets.ts';
import { sweepTable } from './lib/sweep-table.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

/** prima.cpp Table 4, smallest first. */
const LLAMA = ['Llama-3-8B', 'Llama-3-14B', 'Llama-1-30B', 'Llama-3-45B', 'Llama-3-60B', 'Llama-1-65B', 'Llama-3-70B'];
/** Seconds for one integer program; the ones of a home take well under one. */
const SOLVER_SECONDS = 20;
/** Devices beyond which trying every subset takes hours. */
const SUBSETS_AT_MOST = 12;
