import { createNamedModel, loadCatalogue, loadClusterFile } from '../datasets/load.ts';
import { createWorkload } from '../engine/model/workload.ts';
import { enumerate } from '../engine/terminal/format.ts';
import { readChoices, readCount, readList } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { wrapText } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { findingsOf, roundsCsv, roundsReport, roundsTable } from './lib/rounds/report.ts';
import { evenRounds, POLICIES, RECLAIMS, simulateRounds } from './lib/rounds/rounds.ts';
import { checkOutput, writeFiles } from './lib/write.ts';

interface Options {
  readonly cluster: string;
  readonly models: string;
  readonly reclaim: string;
  readonly mostRounds: string;
  readonly prompt: string;
  readonly tokens: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

const MODELS = 'Llama-3-8B,Llama-1-30B,Llama-1-65B,Llama-3-70B,Qwen2.5-72B';

await runExperiment<Options>({
  name: 'rounds',
  description:
    'TPOT against the rounds k of a pipelined ring, simulated, by what devices do with their weights (prima.cpp Fig. 2).',
  configure: (command) =>
    command
      .option(
        '--cluster <key>',
        'a cluster of datasets/clusters, or a file; all devices get equal windows',
        'prima-fig2',
      )
      .option('--models <list>', 'models by name, with :mix if wanted', MODELS)
      .option('--reclaim <list>', `how the OS reclaims: ${RECLAIMS.join(', ')}`, RECLAIMS.join(','))
      .option('--most-rounds <k>', 'largest k', '10')
      .option('--prompt <n>', 'tokens of the prompt', '128')
      .option('--tokens <n>', 'tokens to decode, at least 2; the first is not counted', '4')
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print the rows as JSON')
      .option('--out <dir>', 'where report.html, rounds.csv and rounds.json go', 'results/rounds'),
  run,
});

function run(options: Options): void {
  checkOutput(options.out);
  const { cluster, statements } = loadClusterFile(options.cluster);
  const catalogue = loadCatalogue();
  const models = readList('--models', options.models).map((name) => createNamedModel(catalogue, name));
  const reclaims = readChoices('--reclaim', options.reclaim, RECLAIMS);
  const most = readCount('--most-rounds', options.mostRounds, 1, 1000);
  const workload = createWorkload({
    promptTokens: readCount('--prompt', options.prompt, 1),
    outputTokens: readCount('--tokens', options.tokens, 2, 10_000),
  });
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const jobs = reclaims.flatMap((reclaim) =>
    models.flatMap((model) =>
      POLICIES.flatMap((policy) =>
        evenRounds(model, cluster.devices.length, most).map((rounds) => ({ reclaim, model, policy, rounds })),
      ),
    ),
  );
  const progress = createProgress(jobs.length);
  const rows = jobs.map(({ reclaim, model, policy, rounds }) => {
    const row = simulateRounds(model, policy, rounds, { cluster, workload, reclaim });
    progress.step(`${model.name}, ${policy.name}, reclaim ${reclaim}, k = ${rounds}`);
    return row;
  });
  progress.stop();
  const settings = {
    cluster: cluster.name,
    reclaims,
    models: models.map(({ name, mix }) => `${name}:${mix}`),
    workload,
    seed,
  };
  const [first = 'os'] = reclaims;
  const findings = findingsOf(rows, first);
  const subtitle = `${cluster.name}: ${cluster.devices.length} devices, equal windows · reclaim ${reclaims.join(', ')} · prompt of ${workload.promptTokens}, ${workload.outputTokens} tokens`;
  writeFiles(
    options.out,
    new Map([
      [
        'report.html',
        renderReport(roundsReport({ rows, reclaims, subtitle, findings, cluster: cluster.name, statements })),
      ],
      ['rounds.csv', roundsCsv(rows)],
      ['rounds.json', `${JSON.stringify({ settings, rows }, undefined, 2)}\n`],
    ]),
  );
  if (options.json) process.stdout.write(`${JSON.stringify({ settings, rows }, undefined, 2)}\n`);
  else {
    const shown = `reclaim ${first}${reclaims.length > 1 ? ` (the report also has ${enumerate(reclaims.slice(1))})` : ''}`;
    const table = roundsTable(rows.filter(({ reclaim }) => reclaim === first));
    const text = wrapText(findings, 118).join('\n');
    process.stdout.write(`${subtitle}\n\n${shown}\n${table}\n${text}\n\nReport: ${options.out}/report.html\n`);
  }
}
