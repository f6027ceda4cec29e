import { join } from 'node:path';
import { makeOutputFolder } from '../commands/output-file.ts';
import { withLockedFolder } from '../engine/files/folder-lock.ts';
import { InputError } from '../engine/input/input-error.ts';
import { SCHEDULER_NAMES } from '../engine/schedule/registry.ts';
import { readChoices, readCount } from '../engine/terminal/options.ts';
import { checkSweep } from './partition-sweep/check.ts';
import { askSchedulers } from './partition-sweep/choices.ts';
import { bestTable, choiceTable } from './partition-sweep/columns.ts';
import { extentText, failuresText, findingsOf } from './partition-sweep/findings.ts';
import { readInputs } from './partition-sweep/inputs.ts';
import { gatherLandscape, groupLandscape } from './partition-sweep/landscape.ts';
import { openPointsFile, POINTS_FILE, readPoints, writePointsCsv } from './partition-sweep/points-file.ts';
import { POLICIES, type PolicyName } from './partition-sweep/policies.ts';
import { partitionPage } from './partition-sweep/report.ts';
import { announce, checkLast } from './partition-sweep/run.ts';
import { sampleNumbers } from './partition-sweep/space.ts';
import type { GpuLevels } from './partition-sweep/splits.ts';
import { summarise, summaryData } from './partition-sweep/summary.ts';
import type { PlanPoints } from './partition-sweep/sweep-points.ts';
import { fingerprintOf } from './partition-sweep/sweeper.ts';
import { terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choice, choices, count, flag, option, text } from './report/options.ts';
import { RECLAIMS } from './rounds/rounds.ts';
import { createExecutor, SWEEP_OPTIONS } from './sweep/options.ts';
import { takeResults } from './sweep/resume.ts';
import { printsInstead, runPoints } from './sweep/run.ts';
import { createSweep } from './sweep/sweep.ts';

/** Rows of the table of the fastest plans on a terminal; the page has more. */
const BEST_ROWS = 5;

await runExperiment({
  name: 'partition-sweep',
  description:
    'Simulates every plan of a ring, or a sample: windows, GPU layers, rounds and weights policies; and shows where in that landscape each scheduler’s plan lies.',
  options: {
    cluster: text('--cluster <key>', 'a cluster of datasets/clusters, or a file', 'prima-home'),
    model: text('--model <name>', 'a model by name, with :mix if wanted', 'Llama-3-70B'),
    context: count('--context <n>', 'tokens in the KV cache', { default: 1024, least: 0 }),
    reclaim: choice('--reclaim <policy>', `how the OS reclaims: ${RECLAIMS.join(', ')}`, RECLAIMS, 'os'),
    mostRounds: count('--most-rounds <k>', 'largest number of rounds; all that divide the layers', {
      default: 8,
      most: 1000,
    }),
    step: count('--step <layers>', 'grid of the devices’ shares, in layers of the model over all rounds', {
      default: 4,
      most: 1000,
    }),
    gpuLevels: option(
      '--gpu-levels <n>',
      'GPU layers per window: 1 as many as fit, n from none to those, or all',
      (name, given): GpuLevels => (given === 'all' ? 'all' : readCount(name, given, 1, 1000)),
      { default: '1' },
    ),
    outputs: option(
      '--outputs <list>',
      'of cpu, gpu: where the head runs the output layer (default: all it has)',
      (name, given) => readChoices(name, given, ['cpu', 'gpu'] as const),
    ),
    policies: option(
      '--policies <list>',
      `of ${POLICIES.join(', ')}`,
      (name, given): PolicyName[] => readChoices(name, given, POLICIES),
      { default: POLICIES.join(','), shown: 'all' },
    ),
    mostPlans: count('--most-plans <n>', 'a larger space is sampled at random', { default: 100_000 }),
    // Schedulers that plan rings, without milp, which only confirms `optimal`.
    schedulers: choices('--schedulers <list>', `of ${SCHEDULER_NAMES.join(', ')}`, SCHEDULER_NAMES, [
      'halda',
      'halda-repaired',
      'optimal',
      'ring-aware',
      'memory-ratio',
      'compute-ratio',
      'single-device',
    ]),
    restart: flag('--restart', 'discard what an earlier sweep left in --out'),
    ...SWEEP_OPTIONS,
  },
  seed: { help: 'decides the sample' },
  json: 'summary.json',
  files: ['points.csv', 'points.jsonl'],
  examples: `A sweep that was stopped continues where it was when it is started again with the same options.

Example:
  tsx experiments/partition-sweep.ts --model Llama-3-8B --step 2 --policies none,populate`,
  async run(options, { progress }) {
    const { out: directory, mostPlans, seed, restart } = options;
    const inputs = readInputs(options);
    const { setting, sweeper } = inputs;
    const numbers = sampleNumbers(sweeper.space.size, mostPlans, seed);
    const sweep = createSweep('partition-sweep', { setting, mostPlans, seed } satisfies PlanPoints, numbers.length);
    if (await printsInstead(sweep, options, directory)) return undefined;
    const executor = await createExecutor(options, directory);
    if (restart && options.resume !== undefined)
      throw new InputError('--resume', 'goes on with points that --restart discards; leave one of them out');
    makeOutputFolder('--out', directory);
    return await withLockedFolder('--out', directory, async () => {
      takeResults(options.resume, POINTS_FILE, directory);
      const settings = fingerprintOf(setting, { mostPlans, seed });
      const file = openPointsFile({ directory, fingerprint: settings, numbers, restart });
      announce(sweeper.space, numbers.length, file.done);
      checkLast(sweeper, file);
      const { done, stopped } = await runPoints({
        ...file,
        sweep,
        executor,
        progress,
        folder: directory,
        noun: 'plans',
      });
      file.close();

      const landscape = gatherLandscape(readPoints(file.path, numbers), done);
      if (landscape.ranking.length === 0) {
        if (stopped) return undefined;
        const kinds = [...landscape.failures.keys()].join(', ');
        const problem = `none of the ${done} plans can be run (${kinds}); choose a smaller model or context`;
        throw new InputError('--model', problem);
      }
      const groups = groupLandscape(landscape, sweeper.space);
      const chosen = await askSchedulers(options.schedulers, inputs, landscape);
      const check = checkSweep({ ...sweeper, landscape, seed });
      const summary = summarise({
        ...sweeper,
        settings,
        wanted: numbers.length,
        landscape,
        groups,
        choices: chosen,
        check,
      });
      const devices = setting.cluster.devices.map(({ name }) => name);
      writePointsCsv(join(directory, 'points.csv'), readPoints(file.path, numbers), sweeper.space, devices);
      return {
        subtitle: `${modelText(setting.model)}, on ${setting.cluster.name}: ${extentText(summary)}`,
        findings: findingsOf(summary),
        data: summaryData(summary),
        text: [
          terminalTable(choiceTable(summary)),
          terminalTable(bestTable(summary, BEST_ROWS)),
          failuresText(summary),
        ],
        page: partitionPage({ ...inputs, ...sweeper, landscape, summary }),
        written: ['points.csv', 'points.jsonl'],
      };
    });
  },
});
