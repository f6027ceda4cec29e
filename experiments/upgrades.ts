import { createNamedModel, loadCatalogue, loadDevices } from '../datasets/load.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { upgradeParts } from '../planner/changes.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { type Results, runExperiment } from './report/experiment.ts';
import { choice, count, flag, list } from './report/options.ts';
import { SWEEP_OPTIONS } from './sweep/options.ts';
import { sweepResults } from './sweep/results.ts';
import { printsInstead } from './sweep/run.ts';
import { createSweep } from './sweep/sweep.ts';
import { ANSWERS, UPGRADES, type UpgradesSetting, upgradableMachines } from './upgrades/homes.ts';
import { recordedUpgrades } from './upgrades/recorded.ts';
import { findingsOf, upgradesPage, upgradesTable } from './upgrades/report.ts';
import { summariseUpgrades, type UpgradesRun } from './upgrades/summary.ts';

function resultsOf({ settings, groups }: UpgradesRun): Results {
  const { seed, homes, models, answer } = settings;
  const table = upgradesTable(groups);
  const points = homes * models.length * UPGRADES.length;
  return {
    subtitle: `${homes} random homes (seeds ${seed} to ${seed + homes - 1}), ${models.join(', ')}; ${points} points, ${answer}`,
    findings: findingsOf(groups),
    data: { settings, groups },
    text: [terminalTable(table)],
    page: upgradesPage(groups, answer),
    files: { 'upgrades.csv': tableCsv(table) },
  };
}

await runExperiment({
  name: 'upgrades',
  description:
    'Which random home clusters gain most from a disk, memory, a GPU or faster links, by closed forms or simulated.',
  options: {
    homes: count('--homes <n>', `random homes, each with ${UPGRADES.length} points per model`, { default: 2000 }),
    models: list('--models <list>', 'models by name, with :mix if wanted', 'Llama-3-8B,Llama-3-70B'),
    context: count('--context <n>', 'tokens in the KV cache', { default: 1024, least: 0 }),
    answer: choice('--answer <name>', `how long a token takes: ${ANSWERS.join(', ')}`, ANSWERS, 'predicted'),
    recorded: flag('--recorded', 'show the groups of 100,000 homes as simulated once, and compute nothing'),
    ...SWEEP_OPTIONS,
  },
  seed: { help: 'seed of the first home; the others count on from it' },
  json: 'upgrades.json',
  files: ['upgrades.csv'],
  async run(options, { progress }) {
    const { homes, seed, context, out, answer } = options;
    if (options.recorded) return resultsOf(recordedUpgrades());
    const catalogue = loadCatalogue();
    const models = options.models.map((name) => createNamedModel(catalogue, name));
    const devices = loadDevices();
    const setting: UpgradesSetting = {
      ...{ seed, models, workload: createWorkload({ context }), answer },
      parts: upgradeParts(devices),
      upgradable: upgradableMachines(devices),
    };
    const sweep = createSweep('upgrades', setting, homes * models.length * UPGRADES.length);
    if (await printsInstead(sweep, options, out)) return undefined;
    const seconds = await sweepResults<number | null>({ sweep, options, progress, noun: 'points' });
    if (seconds === undefined) return undefined;
    return resultsOf({
      settings: { seed, homes, context, answer, models: models.map(({ name, mix }) => `${name}:${mix}`) },
      groups: summariseUpgrades(seconds, setting),
    });
  },
});
