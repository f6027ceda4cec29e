import { availableParallelism, hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeOutputFolder } from '../commands/output-file.ts';
import { readText } from '../datasets/read-text.ts';
import { temporaryPath } from '../engine/files/temporary-file.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { counted } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { loadAddon, type NativeAddon } from '../engine/kernels/native/addon.ts';
import { measureDisk } from '../engine/profile/disk.ts';
import { THIS_HOST } from '../engine/profile/memory/host.ts';
import { readMemory } from '../engine/profile/memory/read-memory.ts';
import { WEIGHTS_FILE_BYTES, withWeightsFile } from '../engine/profile/probes/weights-file.ts';
import { readCount, readList } from '../engine/terminal/options.ts';
import { cellsTable, measureText } from './measure/columns.ts';
import { madeModels } from './measure/made-models.ts';
import { measurePage } from './measure/report.ts';
import { type CellsRun, type CellsToRun, runCells, stepsOf } from './measure/run-cells.ts';
import { findings } from './measure/summary.ts';
import { tableCsv } from './report/columns.ts';
import { type CommonOptions, type Frame, runExperiment } from './report/experiment.ts';
import { count, option, type Reader, text, texts } from './report/options.ts';

const counts =
  (least: number, most: number): Reader<number[]> =>
  (flag, list) =>
    readList(flag, list).map((item) => readCount(flag, item, least, most));

await runExperiment({
  name: 'measure',
  description:
    'Predicts, simulates and measures TPOT and TTFT on this machine, for models × threads × contexts, and prints the errors.',
  options: {
    model: texts(
      '--model <file...>',
      'GGUF files; random models of 0.5 and 1.1 billion weights in three mixes unless given',
    ),
    cache: text('--cache <dir>', 'where random models are kept', join(tmpdir(), 'hearth-models')),
    threads: option('--threads <list>', 'default: 1, and one for each processor', counts(1, 1024)),
    contexts: option('--contexts <list>', 'tokens of the prompt', counts(1, 100_000), { default: '128,512' }),
    tokens: count('--tokens <n>', 'tokens decoded after each prompt', { default: 16, most: 1000 }),
    repeats: count('--repeats <n>', 'runs of each cell that count; one more comes before them', {
      default: 5,
      most: 1000,
    }),
    profile: option(
      '--profile <file>',
      'a file of hearth profile, in place of probes; threads are those it was made with',
      readProfile,
    ),
    diskFile: text('--disk-file <file>', 'is made (512 MiB), read and removed; default: next to --out'),
  },
  json: 'measure.json',
  files: ['measure.csv', 'the profiles'],
  seed: { help: 'of random models and of the weights that probes multiply' },
  async run(options, frame) {
    const { contexts, tokens, repeats, profile, seed } = options;
    const threads = threadsOf(options.threads, profile);
    const addon = loadAddon();
    if (typeof addon === 'string')
      throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
    const models = options.model ?? (await madeModels(options.cache, seed));
    for (const model of models) withFile(model, readGguf); // a mistake shows before minutes of probing
    const found = await measured(addon, options, { models, threads, contexts, tokens, repeats, profile }, frame);
    const { cells, profiles } = found;
    return {
      subtitle: `${hostname()} · threads: ${threads.join(', ')} · prompts of ${contexts.join(', ')} tokens, ${counted(tokens, 'token')} decoded · ${counted(repeats, 'repeat')}`,
      findings: findings(cells),
      data: {
        settings: { models, threads, contexts, tokens, repeats, seed },
        cells: cells.map(({ model, ...rest }) => ({ model: model.name, mix: model.mix, bytes: model.bytes, ...rest })),
      },
      text: measureText(cells),
      page: measurePage(found),
      files: {
        'measure.csv': tableCsv(cellsTable(cells)),
        ...Object.fromEntries(profiles.map((one) => [`profile-${one.threads}.json`, one.text])),
      },
    };
  },
});

type Asked = Pick<CellsToRun, 'models' | 'threads' | 'contexts' | 'tokens' | 'repeats' | 'profile'>;

/** With a profile nothing is probed, so no file for probing is needed. */
async function measured(
  addon: NativeAddon,
  { diskFile, out, seed }: CommonOptions & { readonly diskFile: string | undefined },
  asked: Asked,
  { progress }: Frame,
): Promise<CellsRun> {
  const memory = readMemory(THIS_HOST);
  const run = (weightsFile: string | undefined, disk: CellsToRun['disk']): Promise<CellsRun> => {
    const parts = { ...asked, memory, disk, weightsFile };
    return runCells({ ...parts, progress: progress(stepsOf(parts)) });
  };
  if (asked.profile !== undefined) return run(undefined, undefined);
  if (diskFile === undefined) makeOutputFolder('--out', dirname(out));
  const file = diskFile ?? temporaryPath(join(dirname(out), 'hearth-measure'));
  return await withWeightsFile(file, seed, () =>
    run(
      file,
      measureDisk(addon, file, WEIGHTS_FILE_BYTES, () => {}),
    ),
  );
}

function readProfile(_: string, file: string): NonNullable<CellsToRun['profile']> {
  const profile = readText(file, 'give a file of hearth profile');
  return { text: profile, cluster: parseCluster(profile, file) };
}

/** @throws InputError where other threads are asked for than the profile's */
function threadsOf(threads: readonly number[] | undefined, profile: CellsToRun['profile']): readonly number[] {
  const profiled = profile?.cluster.devices[0]?.cpu.cores;
  if (threads === undefined) return profiled === undefined ? [...new Set([1, availableParallelism()])] : [profiled];
  if (profiled !== undefined && threads.some((one) => one !== profiled))
    throw new InputError('--threads', `the profile was made with ${profiled}; leave the option out`);
  return threads;
}
