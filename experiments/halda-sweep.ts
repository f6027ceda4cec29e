import { loadPublished } from '../datasets/load.ts';
import { RECLAIM_POLICIES, type ReclaimPolicy } from '../engine/cost/reclaim.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { loadIntegerSolver } from '../engine/schedule/integer-solver.ts';
import { SCHEDULER_NAMES, SCHEDULERS, type SchedulerName } from '../engine/schedule/registry.ts';
import { readChoices, readList } from '../engine/terminal/options.ts';
import type { Progress } from '../engine/terminal/progress.ts';
import { sweepText, TIMING_COLUMNS, tableOf } from './halda-sweep/columns.ts';
import { findings } from './halda-sweep/findings.ts';
import { SUBSETS_BY_DEFAULT, type SweepInputs, sweepInputs } from './halda-sweep/inputs.ts';
import { sweepPage } from './halda-sweep/report.ts';
import { type ClusterResults, planFiles, resultsData, traceFiles } from './halda-sweep/results.ts';
import { subsetsWithHead, sweepSubsets } from './halda-sweep/subsets.ts';
import { requirePlan, type SweepCase, sweepCluster } from './halda-sweep/sweep.ts';
import { tableCsv } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choice, count, eitherFlag, flag, list, option, text } from './report/options.ts';

/** Time limit of one integer program, seconds; those of a home take well under one second. */
const SOLVER_SECONDS = 20;

await runExperiment({
  name: 'halda-sweep',
  description:
    'Plans models on clusters with every scheduler, predicts the time per token of each plan (TPOT), and compares it with what the papers published.',
  options: {
    cluster: list('--cluster <list>', 'clusters: keys of datasets/clusters, or files', 'prima-home'),
    belief: text('--belief <cluster>', 'the cluster that the schedulers see (default: the true one)'),
    models: option(
      '--models <list>',
      'models by name, with :mix if wanted; `llama` or `all` (default: llama)',
      readList,
    ),
    modelFile: text(
      '--model-file <file>',
      'your own models (CSV, columns as datasets/models.csv; default: all of them)',
    ),
    schedulers: option(
      '--schedulers <list>',
      'schedulers, see below',
      (name, given): SchedulerName[] => readChoices(name, given, SCHEDULER_NAMES),
      { default: SCHEDULER_NAMES.join(','), shown: 'all' },
    ),
    context: count('--context <tokens>', 'tokens in the KV cache', { default: 1024, least: 0 }),
    reclaim: choice(
      '--reclaim <policy>',
      `how the OS reclaims weights: ${RECLAIM_POLICIES.join(', ')}`,
      RECLAIM_POLICIES,
      'overflow',
    ),
    devices: option('--devices <list>', 'only these devices; the first in ring order is the head', readList),
    subsets: eitherFlag(
      '--subsets',
      `try every set of devices with the head (default: clusters of at most ${SUBSETS_BY_DEFAULT})`,
      "don't try sets of devices",
    ),
    plan: text('--plan <file>', 'also judge a plan from a file (JSON; on models with as many layers)'),
    trace: flag('--trace', 'write every predicted token as a Perfetto trace'),
  },
  seed: { help: 'recorded only: this sweep draws no random numbers', default: 0 },
  json: 'results.json',
  files: ['results.csv', 'timing.csv', 'plans/'],
  examples: `Schedulers:
${SCHEDULER_NAMES.map((name) => `  ${name.padEnd(16)}${SCHEDULERS[name].description}`).join('\n')}

Example:
  tsx experiments/halda-sweep.ts --cluster prima-home-6 --models Llama-3-70B --schedulers halda,optimal`,
  async run(options, { progress }) {
    const { schedulers, context, reclaim, belief, trace, seed } = options;
    const inputs = sweepInputs(options);
    const results = await sweepClusters(inputs, { schedulers, context, reclaim, progress });
    const rows = results.flatMap((result) => result.rows);
    requirePlan(rows);
    const settings = {
      clusters: inputs.clusters.map(({ truth }) => ({
        name: truth.name,
        devices: truth.devices.map(({ name }) => name),
      })),
      belief: belief ?? 'truth',
      models: inputs.models.map(({ label, model }) => ({ label, mix: model.mix, bytes: model.bytes })),
      schedulers,
      context,
      reclaim,
      ...(inputs.handPlan && { plan: inputs.handPlan }),
      seed,
    };
    return {
      subtitle: subtitleOf(inputs, options),
      findings: results.flatMap((result) => findings(result.rows)),
      data: resultsData(settings, results),
      text: results.map((result) => sweepText(result.rows)),
      page: sweepPage({ inputs, results, reclaim, belief }),
      files: {
        'results.csv': tableCsv(tableOf(rows)),
        'timing.csv': tableCsv({ columns: TIMING_COLUMNS, rows }),
        ...planFiles(rows),
        ...(trace && traceFiles(rows)),
      },
    };
  },
});

interface SweepSettings {
  readonly schedulers: readonly SchedulerName[];
  readonly context: number;
  readonly reclaim: ReclaimPolicy;
}

/** Every cluster in turn, with one progress bar for all of them. */
async function sweepClusters(
  { clusters, models, handPlan }: SweepInputs,
  { schedulers, context, reclaim, progress }: SweepSettings & { readonly progress: (steps: number) => Progress },
): Promise<ClusterResults[]> {
  const solver = await loadIntegerSolver(SOLVER_SECONDS);
  const cells = loadPublished();
  const sets = clusters.map(({ truth, subsets }) =>
    subsets ? subsetsWithHead(truth.devices.map(({ name }) => name)).length : 0,
  );
  const { step } = progress(sets.reduce((sum, tried) => sum + models.length * schedulers.length + tried, 0));
  const largest = [...models].sort((one, other) => other.model.bytes - one.model.bytes)[0];
  try {
    return clusters.map(({ truth, belief, whole, subsets }) => {
      const workload = createWorkload({ context });
      const published = whole ? cells : [];
      const given: SweepCase = { truth, belief, models, schedulers, handPlan, workload, reclaim, solver, published };
      const rows = sweepCluster(given, step);
      if (!subsets || largest === undefined) return { cluster: truth.name, rows, subsets: undefined };
      return { cluster: truth.name, rows, subsets: { model: largest.label, rows: sweepSubsets(given, largest, step) } };
    });
  } finally {
    solver.dispose();
  }
}

function subtitleOf(
  { clusters, models }: SweepInputs,
  { schedulers, context, reclaim, belief }: SweepSettings & { readonly belief: string | undefined },
): string {
  const devices = clusters.map(({ truth }) => `${truth.name} (${truth.devices.map(({ name }) => name).join(', ')})`);
  const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
  return [
    ...devices,
    counted(models.length, 'model'),
    counted(schedulers.length, 'scheduler'),
    `context of ${context} tokens`,
    `reclaim ${reclaim}`,
    ...(belief === undefined ? [] : [`planned on ${belief}`]),
  ].join(' · ');
}
