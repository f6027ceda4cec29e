import { createNamedModel, loadCatalogue, loadDevices } from '../datasets/load.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { upgradeParts } from '../engine/planner/changes.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choice, count, list } from './report/options.ts';
import { SWEEP_OPTIONS } from './sweep/options.ts';
import { sweepResults } from './sweep/results.ts';
import { printsInstead } from './sweep/run.ts';
import { createSweep } from './sweep/sweep.ts';
import { ANSWERS, UPGRADES, type UpgradesSetting } from './upgrades/homes.ts';
import { findingsOf, upgradesPage, upgradesTable } from './upgrades/report.ts';
import { summariseUpgrades } from './upgrades/summary.ts';

await runExperiment({
  name: 'upgrades',
  description:
    'Which random home clusters gain most from a disk, memory, a GPU or faster links, by closed forms or simulated.',
  options: {
    homes: count('--homes <n>', `random homes, each with ${UPGRADES.length} points per model`, { default: 2000 }),
    models: list('--models <list>', 'models by name, with :mix if wanted', 'Llama-3-8B,Llama-3-70B'),
    context: count('--context <n>', 'tokens in the KV cache', { default: 1024, least: 0 }),
    answer: choice('--answer <name>', `how long a token takes: ${ANSWERS.join(', ')}`, ANSWERS, 'predicted'),
    ...SWEEP_OPTIONS,
  },
  seed: { help: 'seed of the first home; the others count on from it' },
  json: 'upgrades.json',
  files: ['upgrades.csv'],
  async run(options, { progress }) {
    const { homes, seed, context, out, answer } = options;
    const catalogue = loadCatalogue();
    const models = options.models.map((name) => createNamedModel(catalogue, name));
    const parts = upgradeParts(loadDevices());
    const setting: UpgradesSetting = { seed, models, workload: createWorkload({ context }), parts, answer };
    const sweep = createSweep('upgrades', setting, homes * models.length * UPGRADES.length);
    if (await printsInstead(sweep, options, out)) return undefined;
    const seconds = await sweepResults<number | null>({ sweep, options, progress, noun: 'points' });
    if (seconds === undefined) return undefined;
    const groups = summariseUpgrades(seconds, setting);
    const table = upgradesTable(groups);
    return {
      subtitle: `${homes} random homes (seeds ${seed} to ${seed + homes - 1}), ${models.map(modelText).join('; ')}; ${seconds.length} points, ${answer}`,
      findings: findingsOf(groups),
      data: {
        settings: { seed, homes, context, answer, models: models.map(({ name, mix }) => `${name}:${mix}`) },
        groups,
      },
      text: [terminalTable(table)],
      page: upgradesPage(groups, answer),
      files: { 'upgrades.csv': tableCsv(table) },
    };
  },
});
