import { loadCatalogue, loadClusterFile, namedW4a16Model } from '../datasets/load.ts';
import { readCount } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { formatTable, wrapText } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { toCsv } from './lib/csv.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { type CutPrompt, cutPrompt, type SystemResult } from './sequence-cutting/cuts.ts';
import {
  cuttingReport,
  cuttingSummary,
  DECISION_COLUMNS,
  decisionCells,
  SYSTEM_COLUMNS,
  systemCells,
} from './sequence-cutting/report.ts';
import { SWEPT_SYSTEMS, sweepLengths } from './sequence-cutting/sweep.ts';

interface Options {
  readonly length: string;
  readonly model: string;
  readonly cluster: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

const WIDTH = 150;
/** The longest prompt: the sweep and the simulation stay within a minute. */
const MOST_TOKENS = 8192;
/** Lengths of the sweep, Fig. 14's range. */
const SWEEP = Array.from({ length: 64 }, (_, index) => 16 * (index + 1) + 3);

await runExperiment<Options>({
  name: 'sequence-cutting',
  description:
    'How a prompt is cut between a chip’s GPU and NPU, operator by operator, and why (HeteroLLM §4.1, Figs. 10 and 14).',
  configure: (command) =>
    command
      .option('--length <tokens>', 'tokens of the prompt', '300')
      .option('--model <name>', 'a model of the catalogue, run in W4A16', 'Llama-3-8B')
      .option(
        '--cluster <key>',
        'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU',
        'hetero-8gen3',
      )
      .option('--seed <n>', 'recorded: nothing here is random', '1')
      .option('--json', 'print cuts.json')
      .option('--out <dir>', 'where report.html, cuts.json, lengths.csv and plans/ go', 'results/sequence-cutting'),
  run,
});

function run(options: Options): void {
  checkOutput(options.out);
  const tokens = readCount('--length', options.length, 1, MOST_TOKENS);
  const seed = readCount('--seed', options.seed, 0, 1e9);
  const loaded = loadClusterFile(options.cluster);
  const model = namedW4a16Model(loadCatalogue(), options.model);
  const prompt = cutPrompt(loaded.cluster, model, tokens);
  const progress = createProgress(SWEEP.length);
  let sweep: ReturnType<typeof sweepLengths>;
  try {
    sweep = sweepLengths(loaded.cluster, model, SWEEP, progress.step);
  } finally {
    progress.stop();
  }
  const settings = { length: tokens, model: model.name, cluster: options.cluster, seed };
  const json = `${JSON.stringify({ experiment: 'sequence-cutting', settings, ...prompt, provenance: loaded.statements }, null, 2)}\n`;
  const files = new Map([
    ['report.html', renderReport(cuttingReport(prompt, sweep, model, loaded))],
    ['cuts.json', json],
    [
      'lengths.csv',
      toCsv(
        ['tokens', ...SWEPT_SYSTEMS],
        sweep.map((point) => [point.tokens, ...SWEPT_SYSTEMS.map((name) => point.seconds[name])]),
      ),
    ],
    ...prompt.systems.map(({ system, plan }): [string, string] => [
      `plans/${system}.json`,
      `${JSON.stringify(plan, null, 2)}\n`,
    ]),
  ]);
  writeFiles(options.out, files);
  if (options.json) {
    process.stdout.write(json);
    return;
  }
  process.stdout.write(text(prompt, model));
  process.stdout.write(`Report: ${options.out}/report.html (beside it cuts.json, lengths.csv and a plan per system)\n`);
}

function text(prompt: CutPrompt, model: Parameters<typeof decisionCells>[0]): string {
  const table = (columns: typeof SYSTEM_COLUMNS, rows: readonly string[][]): string =>
    formatTable(
      columns.map(({ title, align }, index) => ({
        title,
        ...(align && { align }),
        wraps: index === columns.length - 1,
      })),
      rows,
      WIDTH,
    );
  const own = prompt.systems.find(({ system }) => system === 'hetero-tensor') as SystemResult;
  return [
    `${wrapText(cuttingSummary(prompt), WIDTH).join('\n')}\n`,
    table(SYSTEM_COLUMNS, systemCells(prompt)),
    `hetero-tensor, operator by operator:\n${table(DECISION_COLUMNS, decisionCells(model, own))}`,
  ].join('\n');
}
