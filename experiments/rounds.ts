import { createNamedModel, loadCatalogue, loadClusterFile } from '../datasets/load.ts';
import { enumerate } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { choices, count, list, text } from './report/options.ts';
import { COLUMNS, findingsOf, roundsPage, roundsTable } from './rounds/report.ts';
import { RECLAIMS, type RoundsRow } from './rounds/rounds.ts';
import { type RoundsPoints, roundsJobs } from './rounds/sweep-points.ts';
import { SWEEP_OPTIONS } from './sweep/options.ts';
import { sweepResults } from './sweep/results.ts';
import { printsInstead } from './sweep/run.ts';
import { createSweep } from './sweep/sweep.ts';

await runExperiment({
  name: 'rounds',
  description:
    'TPOT against the rounds k of a pipelined ring, simulated, by what devices do with their weights (prima.cpp Fig. 2).',
  options: {
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file; all devices get equal windows',
      'prima-fig2',
    ),
    models: list(
      '--models <list>',
      'models by name, with :mix if wanted',
      'Llama-3-8B,Llama-1-30B,Llama-1-65B,Llama-3-70B,Qwen2.5-72B',
    ),
    reclaims: choices('--reclaim <list>', `how the OS reclaims: ${RECLAIMS.join(', ')}`, RECLAIMS),
    mostRounds: count('--most-rounds <k>', 'largest k', { default: 10, most: 1000 }),
    prompt: count('--prompt <n>', 'tokens of the prompt', { default: 128 }),
    tokens: count('--tokens <n>', 'tokens to decode, at least 2; the first is not counted', {
      default: 4,
      least: 2,
      most: 10_000,
    }),
    ...SWEEP_OPTIONS,
  },
  json: 'rounds.json',
  files: ['rounds.csv'],
  async run(options, { progress }) {
    const { reclaims, seed } = options;
    const loaded = loadClusterFile(options.cluster);
    const { cluster } = loaded;
    const catalogue = loadCatalogue();
    const models = options.models.map((name) => createNamedModel(catalogue, name));
    const workload = createWorkload({ promptTokens: options.prompt, outputTokens: options.tokens });
    const { link: _, ...parts } = cluster;
    const points: RoundsPoints = { cluster: parts, models, reclaims, mostRounds: options.mostRounds, workload };
    const jobs = roundsJobs(points);
    if (jobs.length === 0) {
      const problem = `the layers of no model divide evenly among its ${cluster.devices.length} devices`;
      throw new InputError('--cluster', `${problem}; give another cluster or model`);
    }
    const sweep = createSweep('rounds', points, jobs.length);
    if (await printsInstead(sweep, options, options.out)) return undefined;
    const rows = await sweepResults<RoundsRow>({ sweep, options, progress, noun: 'simulations' });
    if (rows === undefined) return undefined;
    const settings = {
      cluster: cluster.name,
      reclaims,
      models: models.map(({ name, mix }) => `${name}:${mix}`),
      workload,
      seed,
    };
    const [first = 'os'] = reclaims;
    const shown = `reclaim ${first}${reclaims.length > 1 ? ` (the report also has ${enumerate(reclaims.slice(1))})` : ''}`;
    return {
      subtitle: `${cluster.name}: ${cluster.devices.length} devices, equal windows · reclaim ${reclaims.join(', ')} · prompt of ${options.prompt}, ${options.tokens} tokens`,
      findings: findingsOf(rows, first),
      data: { settings, rows },
      text: [`${shown}\n${terminalTable(roundsTable(rows, first))}`],
      page: roundsPage(rows, reclaims),
      files: { 'rounds.csv': tableCsv({ columns: COLUMNS, rows }) },
      clusters: [loaded],
    };
  },
});
