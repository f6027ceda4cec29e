import { createNamedModel, loadCatalogue } from '../datasets/load.ts';
import { RECLAIM_POLICIES } from '../engine/cost/reclaim.ts';
import { InputError } from '../engine/input/input-error.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { SCHEDULER_NAMES } from '../engine/schedule/registry.ts';
import { readCount } from '../engine/terminal/options.ts';
import { type GapRow, type GapSettings, summariseGap } from './halda-gap/gap.ts';
import { COLUMNS, gapPage, gapTable, gapText, summarySentences } from './halda-gap/report.ts';
import { tableCsv } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choice, choices, count, list, option } from './report/options.ts';
import { SWEEP_OPTIONS } from './sweep/options.ts';
import { sweepResults } from './sweep/results.ts';
import { printsInstead } from './sweep/run.ts';
import { createSweep } from './sweep/sweep.ts';

await runExperiment({
  name: 'halda-gap',
  description:
    'How often, and by how much, each scheduler misses the optimum on random clusters of all kinds of devices.',
  options: {
    clusters: count('--clusters <n>', 'random clusters', { default: 300, most: 1e6 }),
    devices: option('--devices <from-to>', 'devices in a cluster', readRange, { default: '2-8' }),
    models: list('--models <list>', 'models to draw from', 'Llama-3-8B,Llama-1-30B,Llama-3-70B'),
    // Exact schedulers would only be compared with themselves, and HELM's use another cost model: neither is a default.
    schedulers: choices('--schedulers <list>', `of ${SCHEDULER_NAMES.join(', ')}`, SCHEDULER_NAMES, [
      'optimal',
      'halda-repaired',
      'halda',
      'compute-ratio',
      'memory-ratio',
      'single-device',
    ]),
    context: count('--context <n>', 'tokens in the KV cache', { default: 1024, least: 0 }),
    reclaim: choice(
      '--reclaim <policy>',
      `how the OS reclaims: ${RECLAIM_POLICIES.join(', ')}`,
      RECLAIM_POLICIES,
      'overflow',
    ),
    ...SWEEP_OPTIONS,
  },
  seed: { help: 'seed of the first cluster; the others count on from it' },
  json: 'summary.json',
  files: ['gaps.csv'],
  async run(options, { progress }) {
    const { clusters, devices, models, schedulers, context, reclaim, seed } = options;
    const catalogue = loadCatalogue();
    const settings: GapSettings = {
      clusters,
      seed,
      ...devices,
      models: models.map((name) => createNamedModel(catalogue, name)),
      schedulers,
      workload: createWorkload({ context }),
      reclaim,
    };
    const sweep = createSweep('halda-gap', settings, clusters);
    if (await printsInstead(sweep, options, options.out)) return undefined;
    const found = await sweepResults<GapRow[]>({ sweep, options, progress, noun: 'clusters' });
    if (found === undefined) return undefined;
    const rows = found.flat();
    const summaries = schedulers.map((scheduler) => summariseGap(scheduler, rows));
    const planned = new Set(rows.map((row) => row.seed)).size;
    if (planned === 0) {
      throw new InputError('--context', `with ${context} tokens nothing fits on any of the clusters; use fewer`);
    }
    return {
      subtitle: `${planned} random clusters (seeds ${seed} to ${seed + clusters - 1}) of ${devices.least} to ${devices.most} devices, ${settings.models.map(modelText).join('; ')}; context ${context}, reclaim ${reclaim}`,
      findings: summarySentences(summaries),
      data: {
        settings: { ...settings, models: settings.models.map(({ name, mix }) => `${name}:${mix}`) },
        planned,
        summaries,
      },
      text: [gapText(gapTable(summaries, rows), clusters - planned)],
      page: gapPage(schedulers, summaries, rows),
      files: { 'gaps.csv': tableCsv({ columns: COLUMNS, rows }) },
    };
  },
});

/** `2-8`, or one number for both. */
function readRange(flag: string, text: string): Pick<GapSettings, 'least' | 'most'> {
  const [from = '', to = from, ...rest] = text.split('-');
  const least = readCount(flag, rest.length > 0 ? text : from, 1, 64);
  return { least, most: readCount(flag, to, least, 64) };
}
