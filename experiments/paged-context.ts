import { createNamedModel, loadCatalogue, loadClusterFile, loadPublished } from '../datasets/load.ts';
import { readCount, readList } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { backendsOf } from './paged-context/backends.ts';
import { contextFindings } from './paged-context/findings.ts';
import { LIMIT_COLUMNS, limitCells, pagedContextReport } from './paged-context/report.ts';
import { contextRows, contextsCsv, timesCsv } from './paged-context/results.ts';

interface Options {
  readonly machines: string;
  readonly models: string;
  readonly prompt: string;
  readonly most: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

await runExperiment<Options>({
  name: 'paged-context',
  description:
    'HELM: the longest context by backend, and TPOT against the context with pages of the KV cache in RAM (HELM Fig. 6.1).',
  configure: (command) =>
    command
      .option(
        '--machines <list>',
        'clusters: a ring of HELMs takes all devices, all else the head',
        'helm-4060,helm-3090,helm-l40s',
      )
      .option('--models <list>', 'models by name, with :mix if wanted', 'Qwen3-4B,Qwen3-8B,Qwen3-14B,Qwen3-32B')
      .option('--prompt <n>', 'tokens of the prompt', '128')
      .option('--most <n>', "output tokens at the models' own limit", '32768')
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print the rows as JSON')
      .option('--out <dir>', 'where report.html, contexts.csv, times.csv and results.json go', 'results/paged-context'),
  run,
});

function run(options: Options): void {
  checkOutput(options.out);
  const catalogue = loadCatalogue();
  const cells = loadPublished();
  const machines = readList('--machines', options.machines).map((name) => loadClusterFile(name, '--machines'));
  const models = readList('--models', options.models).map((name) => createNamedModel(catalogue, name));
  const promptTokens = readCount('--prompt', options.prompt, 1, 1_000_000);
  const most = readCount('--most', options.most, 1, 1_000_000);
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const contexts: number[] = [];
  for (let context = 128; context <= most; context *= 2) contexts.push(context);
  const progress = createProgress(
    machines.reduce((sum, { cluster }) => sum + models.length * backendsOf({ cluster }).length, 0),
  );
  const rows = machines.flatMap(({ cluster }) =>
    models.flatMap((model) =>
      contextRows({ machine: { cluster, model }, promptTokens, most, contexts, cells }, ({ backend }) =>
        progress.step(`${backend}, ${model.name} on ${cluster.name}`),
      ),
    ),
  );
  progress.stop();
  const findings = contextFindings(rows, most);
  const subtitle = `${machines.map(({ cluster }) => cluster.name).join(', ')}; a prompt of ${promptTokens} tokens; pages of 512 tokens, watermark 80 %`;
  const described = machines.map(({ cluster, statements }) => ({ name: cluster.name, statements }));
  const settings = { machines: options.machines, models: options.models, promptTokens, most, seed };
  const json = `${JSON.stringify({ experiment: 'paged-context', settings, findings, rows }, undefined, 2)}\n`;
  const report = renderReport(pagedContextReport({ rows, findings, subtitle, machines: described }));
  writeFiles(
    options.out,
    new Map([
      ['report.html', report],
      ['contexts.csv', contextsCsv(rows)],
      ['times.csv', timesCsv(rows)],
      ['results.json', json],
    ]),
  );
  if (options.json) process.stdout.write(json);
  else {
    const table = formatTable(
      LIMIT_COLUMNS.filter(({ title }) => !title.startsWith('what')),
      rows.map(limitCells).map((cells) => cells.filter((_, index) => index !== 5)),
    );
    process.stdout.write(`${subtitle}\n\n${table}\n${wrapText(findings.join(' '), 118).join('\n')}\n`);
  }
  process.stderr.write(`\nReport: ${options.out}/report.html\n`);
}
