import { mkdirSync } from 'node:fs';
import { availableParallelism, hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { readText } from '../datasets/read-text.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { InputError } from '../engine/input/input-error.ts';
import { loadAddon, type NativeAddon } from '../engine/kernels/native/addon.ts';
import { measureDisk } from '../engine/profile/disk.ts';
import { readMemory } from '../engine/profile/memory/read-memory.ts';
import { THIS_HOST } from '../engine/profile/memory/this-host.ts';
import { WEIGHTS_FILE_BYTES, withWeightsFile } from '../engine/profile/probes/weights-file.ts';
import { readCount, readList } from '../engine/terminal/options.ts';
import { createProgress } from '../engine/terminal/progress.ts';
import { wrapText } from '../engine/terminal/table.ts';
import { runExperiment } from './lib/cli.ts';
import { renderReport } from './lib/report.ts';
import { checkOutput, writeFiles } from './lib/write.ts';
import { madeModels } from './measure/made-models.ts';
import { measureCsv } from './measure/measure-csv.ts';
import { measureJson } from './measure/measure-json.ts';
import { measureReport } from './measure/report.ts';
import { type CellsRun, type CellsToRun, runCells, stepsOf } from './measure/run-cells.ts';
import { findings } from './measure/summary.ts';
import { measureText } from './measure/terminal.ts';

interface Options {
  readonly model?: readonly string[];
  readonly cache: string;
  readonly threads?: string;
  readonly contexts: string;
  readonly tokens: string;
  readonly repeats: string;
  readonly profile?: string;
  readonly diskFile?: string;
  readonly seed: string;
  readonly json?: true;
  readonly out: string;
}

await runExperiment<Options>({
  name: 'measure',
  description:
    'Predicts, simulates and measures TPOT and TTFT on this machine, for models × threads × contexts, and prints the errors.',
  configure: (command) =>
    command
      .option(
        '--model <file...>',
        'GGUF files; random models of 0.5 and 1.1 billion weights in three mixes unless given',
      )
      .option('--cache <dir>', 'where random models are kept', join(tmpdir(), 'hearth-models'))
      .option('--threads <list>', 'default: 1, and one for each processor')
      .option('--contexts <list>', 'tokens of the prompt', '128,512')
      .option('--tokens <n>', 'tokens decoded after each prompt', '16')
      .option('--repeats <n>', 'runs of each cell that count; one more comes before them', '5')
      .option('--profile <file>', 'a file of hearth profile, in place of probes; threads are those it was made with')
      .option('--disk-file <file>', 'is made (512 MiB), read and removed; default: beside --out')
      .option('--seed <n>', 'of random models and of the weights that probes multiply', '1')
      .option('--json', 'print the cells as JSON')
      .option('--out <dir>', 'where report.html, measure.csv, measure.json and the profiles go', 'results/measure'),
  run,
});

async function run(options: Options): Promise<void> {
  checkOutput(options.out);
  const seed = readCount('--seed', options.seed, 0, 2 ** 32 - 1);
  const contexts = counts('--contexts', options.contexts, 1, 100_000);
  const tokens = readCount('--tokens', options.tokens, 1, 1000);
  const repeats = readCount('--repeats', options.repeats, 1, 1000);
  const profile = options.profile === undefined ? undefined : readProfile(options.profile);
  const threads = readThreads(options.threads, profile);
  const addon = loadAddon();
  if (typeof addon === 'string')
    throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
  const models = options.model ?? (await madeModels(options.cache, seed));
  for (const model of models) withFile(model, readGguf); // a mistake shows before minutes of probing
  const settings = { models, threads, contexts, tokens, repeats, seed };
  const found = await measured(addon, options, { models, threads, contexts, tokens, repeats, profile }, seed);
  const subtitle = `${hostname()} · threads: ${threads.join(', ')} · prompts of ${contexts.join(', ')} tokens, ${tokens} tokens decoded · ${repeats} repeats`;
  const json = measureJson(settings, found.cells);
  writeFiles(
    options.out,
    new Map([
      ['report.html', renderReport(measureReport(found, subtitle))],
      ['measure.csv', measureCsv(found.cells)],
      ['measure.json', json],
      ...found.profiles.map(({ threads: count, text }) => [`profile-${count}.json`, text] as const),
    ]),
  );
  if (options.json) process.stdout.write(json);
  else {
    const text = wrapText(findings(found.cells), 118).join('\n');
    process.stdout.write(`${subtitle}\n\n${measureText(found.cells)}\n${text}\n\nReport: ${options.out}/report.html\n`);
  }
}

type Asked = Pick<CellsToRun, 'models' | 'threads' | 'contexts' | 'tokens' | 'repeats' | 'profile'>;

/** With a profile nothing is probed, and no file is needed for it. */
async function measured(addon: NativeAddon, options: Options, asked: Asked, seed: number): Promise<CellsRun> {
  const memory = readMemory(THIS_HOST);
  const go = (weightsFile: string | undefined, disk: CellsToRun['disk']): CellsRun => {
    const parts = { ...asked, memory, disk, weightsFile };
    const progress = createProgress(stepsOf(parts));
    try {
      return runCells({ ...parts, progress });
    } finally {
      progress.stop();
    }
  };
  if (asked.profile !== undefined) return go(undefined, undefined);
  if (options.diskFile === undefined) mkdirSync(dirname(options.out), { recursive: true });
  const file = options.diskFile ?? join(dirname(options.out), `hearth-measure.${process.pid}.tmp`);
  return await withWeightsFile(file, seed, () =>
    go(
      file,
      measureDisk(addon, file, WEIGHTS_FILE_BYTES, () => {}),
    ),
  );
}

function readProfile(file: string): NonNullable<CellsToRun['profile']> {
  const text = readText(file, 'give a file of hearth profile');
  return { text, cluster: parseCluster(text, file) };
}

function readThreads(text: string | undefined, profile: CellsToRun['profile']): number[] {
  const profiled = profile?.cluster.devices[0]?.cpu.cores;
  const usual = profiled === undefined ? [...new Set([1, availableParallelism()])] : [profiled];
  if (text === undefined) return usual;
  const threads = counts('--threads', text, 1, 1024);
  if (profiled !== undefined && threads.some((count) => count !== profiled))
    throw new InputError('--threads', `the profile was made with ${profiled}; leave the option out`);
  return threads;
}

function counts(flag: string, text: string, least: number, most: number): number[] {
  return readList(flag, text).map((item) => readCount(flag, item, least, most));
}
