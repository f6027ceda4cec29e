import { loadPublished } from '../datasets/load.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { wrapText } from '../engine/terminal/table.ts';
import { resultsCsv, timingCsv } from './halda-sweep/csv.ts';
import { findings } from './halda-sweep/findings.ts';
import { type SweepInputs, sweepInputs } from './halda-sweep/inputs.ts';
import { type SweepOptions, sweepOptions } from './halda-sweep/options.ts';
import { sweepReport } from './halda-sweep/report.ts';
import { requirePlan } from './halda-sweep/require-plan.ts';
import { type ClusterResults, planFiles, resultsJson, traceFiles } from './halda-sweep/results.ts';
import { subsetsWithHead, sweepSubsets } from './halda-sweep/subsets.ts';
import { type SweepCase, sweepCluster } from './halda-sweep/sweep.ts';
import { sweepTable } from './halda-sweep/table.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

/** Seconds for one integer program; those of a home take well under one. */
const SOLVER_SECONDS = 20;

async function sweep(options: SweepOptions): Promise<void> {
  checkOutput(options.out);
  const inputs = sweepInputs(options);
  const results = await runSweep(inputs, options);
  const rows = results.flatMap((result) => result.rows);
  requirePlan(rows);
  const json = resultsJson(settingsOf(options, inputs), results);
  const clusters = inputs.clusters.map(({ truth, statements }, index) => ({
    truth,
    statements,
    results: results[index] as ClusterResults,
  }));
  const report = sweepReport({
    subtitle: subtitleOf(options, inputs),
    clusters,
    catalogue: inputs.catalogue,
    reclaim: options.reclaim,
    belief: options.belief,
  });
  const plans = planFiles(rows);
  const traces = options.trace ? traceFiles(rows) : new Map<string, string>();
  const files = new Map([
    ['report.html', renderReport(report)],
    ['results.csv', resultsCsv(results)],
    ['results.json', json],
    ['timing.csv', timingCsv(results)],
    ...plans,
    ...traces,
  ]);
  writeFiles(options.out, files);
  if (options.json) {
    process.stdout.write(json);
    return;
  }
  for (const { rows } of results) process.stdout.write(`${sweepTable(rows)}\n${paragraph(findings(rows).join(' '))}\n`);
  const beside = `results.csv, results.json, timing.csv, ${plans.size} plans${options.trace ? `, ${traces.size} traces` : ''}`;
  process.stdout.write(`Report: ${options.out}/report.html (beside it ${beside})\n`);
}

/** Every cluster in turn, with a bar for them all. */
async function runSweep(
  inputs: SweepInputs,
  { schedulers, context, reclaim }: SweepOptions,
): Promise<ClusterResults[]> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  const cells = loadPublished();
  const steps = inputs.clusters.map(
    ({ truth, subsets }) =>
      inputs.models.length * schedulers.length +
      (subsets ? subsetsWithHead(truth.devices.map(({ name }) => name)).length : 0),
  );
  const progress = createProgress(steps.reduce((sum, count) => sum + count, 0));
  const { models, handPlan } = inputs;
  const largest = [...models].sort((one, other) => other.model.bytes - one.model.bytes)[0];
  try {
    return inputs.clusters.map(({ truth, belief, whole, subsets }) => {
      const workload = createWorkload({ context });
      const published = whole ? cells : [];
      const given: SweepCase = { truth, belief, models, schedulers, handPlan, workload, reclaim, solver, published };
      const rows = sweepCluster(given, progress.step);
      if (!subsets || largest === undefined) return { cluster: truth.name, rows, subsets: undefined };
      return {
        cluster: truth.name,
        rows,
        subsets: { model: largest.label, rows: sweepSubsets(given, largest, progress.step) },
      };
    });
  } finally {
    progress.stop();
    solver.dispose();
  }
}

/** What decides the results, as results.json records it. */
function settingsOf(options: SweepOptions, { clusters, models, handPlan }: SweepInputs) {
  const { belief, schedulers, context, reclaim, seed } = options;
  return {
    clusters: clusters.map(({ truth }) => ({ name: truth.name, devices: truth.devices.map(({ name }) => name) })),
    belief: belief ?? 'truth',
    models: models.map(({ label, model }) => ({ label, mix: model.mix, bytes: model.bytes })),
    schedulers,
    context,
    reclaim,
    ...(handPlan && { plan: handPlan }),
    seed,
  };
}

function subtitleOf({ schedulers, context, reclaim, belief }: SweepOptions, { clusters, models }: SweepInputs): string {
  const devices = clusters.map(({ truth }) => `${truth.name} (${truth.devices.map(({ name }) => name).join(', ')})`);
  const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
  const seen = belief === undefined ? [] : [`planned on ${belief}`];
  const parts = [
    ...devices,
    count(models.length, 'model'),
    count(schedulers.length, 'scheduler'),
    `context of ${context} tokens`,
    `reclaim ${reclaim}`,
    ...seen,
  ];
  return parts.join(' · ');
}

function paragraph(text: string): string {
  return wrapText(text, 118)
    .map((line) => `${line}\n`)
    .join('');
}

await runExperiment<SweepOptions>({
  name: 'halda-sweep',
  description:
    'Plans models on clusters with every scheduler, predicts the time per token of each plan (TPOT), and holds it against what the papers published.',
  configure: sweepOptions,
  run: sweep,
});
