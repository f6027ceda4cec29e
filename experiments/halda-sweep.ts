import { RECLAIM_POLICIES, type ReclaimPolicy } from '../engine/cost/reclaim.ts';
import { formatPercent } from '../engine/input/format.ts';
import { SCHEDULER_NAMES, SCHEDULERS, type SchedulerName } from '../engine/schedule/registry.ts';
import { readChoice, readChoices, readCount, readList } from '../engine/terminal/options.ts';
import { terminalWidth } from '../engine/terminal/table.ts';
import { DEFAULT_CONTEXT, type SweepSettings, sweepClusters } from './halda-sweep/clusters.ts';
import { sweepText, TIMING_COLUMNS, tableOf } from './halda-sweep/columns.ts';
import { findings, firstFindings } from './halda-sweep/findings.ts';
import { firstScreen } from './halda-sweep/first-screen.ts';
import { SUBSETS_BY_DEFAULT, type SweepInputs, sweepInputs } from './halda-sweep/inputs.ts';
import { loadOwnScheduler } from './halda-sweep/own-scheduler.ts';
import { sweepPage } from './halda-sweep/report.ts';
import { allRows, planFiles, resultsData, traceFiles } from './halda-sweep/results.ts';
import { requirePlan } from './halda-sweep/sweep.ts';
import { OPERATING_SYSTEMS } from './papers/prima/machines.ts';
import { tableCsv } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { eitherFlag, flag, list, option, text } from './report/options.ts';
import { checkMaxPressure, MAX_PRESSURE } from './report/planning-options.ts';

await runExperiment({
  name: 'halda-sweep',
  description:
    'Plans models on clusters with every scheduler, predicts and simulates the time per token of each plan (TPOT), ranks plans by the simulated time, and compares with what the papers published.',
  options: {
    cluster: list('--cluster <list>', 'clusters: keys of datasets/clusters, or files', 'prima-home'),
    belief: text(
      '--belief <cluster>',
      'the cluster that the schedulers see (default: what a paper states of its testbed, otherwise the true one)',
    ),
    models: option(
      '--models <list>',
      'models by name, with :mix if wanted; `llama` or `all` (default: those of --model-file, else llama)',
      readList,
    ),
    modelFile: text(
      '--model-file <file>',
      'your own models, in addition to those on file (CSV, columns as datasets/models.csv)',
    ),
    schedulers: option(
      '--schedulers <list>',
      'schedulers, see below',
      (name, given): SchedulerName[] => readChoices(name, given, SCHEDULER_NAMES),
      { default: SCHEDULER_NAMES.join(','), shown: 'all' },
    ),
    schedulerFile: text(
      '--scheduler-file <file>',
      'an additional scheduler of your own: a TypeScript or JavaScript module whose default export maps a problem to { plan }',
    ),
    context: option(
      '--context <tokens>',
      `tokens in the KV cache (default: those of the paper’s programs on their testbeds, else ${DEFAULT_CONTEXT})`,
      (name, given) => readCount(name, given, 0),
    ),
    reclaim: option(
      '--reclaim <policy>',
      `how the OS reclaims weights, and is believed to: ${RECLAIM_POLICIES.join(', ')} (default: ${OPERATING_SYSTEMS.predicted}, and the schedulers believe what their papers do)`,
      (name, given): ReclaimPolicy => readChoice(name, given, RECLAIM_POLICIES),
    ),
    maxPressure: MAX_PRESSURE,
    devices: option('--devices <list>', 'only these devices; the first in ring order is the head', readList),
    subsets: eitherFlag(
      '--subsets',
      `try every set of devices with the head (default: clusters of at most ${SUBSETS_BY_DEFAULT})`,
      'don’t try sets of devices',
    ),
    all: flag('--all', 'print every plan of every scheduler, and all findings'),
    plan: text('--plan <file>', 'also judge a plan from a file (JSON; on models with as many layers)'),
    trace: flag('--trace', 'write every predicted token as a Perfetto trace'),
  },
  seed: { help: 'recorded only: this sweep draws no random numbers', default: 0 },
  json: 'results.json',
  files: ['results.csv', 'timing.csv', 'plans/'],
  examples: `Schedulers:
${SCHEDULER_NAMES.map((name) => `  ${name.padEnd(18)}${SCHEDULERS[name].description}`).join('\n')}

Example:
  tsx experiments/halda-sweep.ts --cluster prima-home-6 --models Llama-3-70B --schedulers halda,optimal`,
  async run(options, { progress }) {
    const { schedulers, context, reclaim: believedReclaim, maxPressure, belief, trace, seed } = options;
    checkMaxPressure(maxPressure, schedulers);
    const reclaim = believedReclaim ?? OPERATING_SYSTEMS.predicted;
    const inputs = sweepInputs(options);
    const ownScheduler =
      options.schedulerFile === undefined ? undefined : await loadOwnScheduler(options.schedulerFile);
    const names = [...schedulers, ...(ownScheduler ? [ownScheduler.name] : [])];
    const width = terminalWidth();
    const asked = { schedulers, ownScheduler, context, reclaim, believedReclaim, maxPressure };
    const results = await sweepClusters(inputs, { ...asked, progress });
    const rows = results.flatMap((result) => result.rows);
    requirePlan(rows);
    const settings = {
      clusters: inputs.clusters.map(({ truth }) => ({
        name: truth.name,
        devices: truth.devices.map(({ name }) => name),
      })),
      belief: belief ?? 'as stated',
      models: inputs.models.map(({ label, model }) => ({ label, mix: model.mix, bytes: model.bytes })),
      schedulers: names,
      context: context ?? 'of the programs',
      reclaim,
      ...(maxPressure !== undefined && { maxPressure }),
      ...(inputs.handPlan && { plan: inputs.handPlan }),
      seed,
    };
    return {
      subtitle: subtitleOf(inputs, { schedulers: names, context, reclaim, maxPressure, belief }),
      findings: results.flatMap(({ rows: own, informed }) =>
        options.all ? findings(own, informed) : [...firstFindings(own, informed), 'All plans: --all.'],
      ),
      data: resultsData(settings, results),
      text: results.map((one) =>
        options.all ? sweepText(allRows(one), width) : firstScreen(one.rows, one.informed, width),
      ),
      page: {
        ...sweepPage({ inputs, results, reclaim, belief }),
        summary: results.flatMap((one) => findings(one.rows, one.informed)),
      },
      files: {
        'results.csv': tableCsv(tableOf(rows)),
        'timing.csv': tableCsv({ columns: TIMING_COLUMNS, rows }),
        ...planFiles(rows),
        ...(trace && traceFiles(rows)),
      },
    };
  },
});

function subtitleOf(
  { clusters, models }: SweepInputs,
  {
    schedulers,
    context,
    reclaim,
    maxPressure,
    belief,
  }: Pick<SweepSettings, 'context' | 'reclaim' | 'maxPressure'> & {
    readonly schedulers: readonly string[];
    readonly belief: string | undefined;
  },
): string {
  const devices = clusters.map(({ truth }) => `${truth.name} (${truth.devices.map(({ name }) => name).join(', ')})`);
  const counted = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;
  return [
    ...devices,
    counted(models.length, 'model'),
    counted(schedulers.length, 'scheduler'),
    ...(context === undefined ? [] : [`context of ${context} tokens`]),
    `reclaim ${reclaim}`,
    ...(maxPressure === undefined ? [] : [`memory pressure up to ${formatPercent(maxPressure)} for ring-aware`]),
    ...(belief === undefined ? [] : [`planned on ${belief}`]),
  ].join(' · ');
}
