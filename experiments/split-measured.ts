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
import { loadAddon } from '../engine/kernels/native/addon.ts';
import { measureDisk } from '../engine/profile/disk.ts';
import { WEIGHTS_FILE_BYTES, withWeightsFile } from '../engine/profile/probes/weights-file.ts';
import { readCount, readList } from '../engine/terminal/options.ts';
import { madeModel, SMALL_MODEL } from './measure/made-models.ts';
import { tableCsv } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { count, option, text } from './report/options.ts';
import { batchTable, splitsTable, splitsText } from './split-measured/columns.ts';
import { splitFindings } from './split-measured/findings.ts';
import { splitsPage } from './split-measured/report.ts';
import { runSplits, type SplitsRun, type SplitsToRun } from './split-measured/run.ts';

/** HELM's split search, executed: every boundary between this machine's CPU and GPU, predicted, simulated, measured. */
await runExperiment({
  name: 'split-measured',
  description: 'Every split of a model between CPU and GPU of this machine: predicted, simulated, measured (HELM 4.1).',
  options: {
    model: text('--model <file>', 'a GGUF file; a random one of 140 million weights unless given'),
    cache: text('--cache <dir>', 'where the random model is kept', join(tmpdir(), 'hearth-models')),
    device: text(
      '--device <name>',
      'the GPU, by its name or a part of it (hearth inspect --devices); the fastest unless given',
    ),
    threads: count('--threads <n>', 'threads of the CPU', { default: availableParallelism(), most: 1024 }),
    prompt: count('--prompt <tokens>', 'tokens of the prompt', { default: 32, most: 100_000 }),
    tokens: count('--tokens <n>', 'tokens decoded after the prompt', { default: 4, most: 1000 }),
    repeats: count('--repeats <n>', 'runs of each split that count; one more comes before them', {
      default: 3,
      most: 1000,
    }),
    batches: option(
      '--batches <list>',
      'numbers of requests that decode together under one split',
      (flag, list) => readList(flag, list).map((item) => readCount(flag, item, 1, 64)),
      { default: '1,2,4,8' },
    ),
    profile: option('--profile <file>', 'a file of hearth profile --device, in place of probes', readProfile),
    diskFile: text('--disk-file <file>', 'is made (512 MiB), read and removed; default: next to --out'),
  },
  json: 'split-measured.json',
  files: ['splits.csv', 'batches.csv', 'profile.json'],
  seed: { help: 'of the random model and of the weights that probes multiply' },
  async run(options, { progress }) {
    const { device, threads, prompt, tokens, repeats, batches, seed } = options;
    const file = options.model ?? (await madeModel(options.cache, SMALL_MODEL, 'Q8_0', seed));
    withFile(file, readGguf); // a mistake shows before minutes of probing
    const asked = { file, device, threads, promptTokens: prompt, outputTokens: tokens, repeats, batches, progress };
    const found = await calibrated(options, asked);
    const { model, gpu, splits, ablations, profile } = found;
    return {
      subtitle: `${modelText(model)} on ${hostname()}: CPU with ${counted(threads, 'thread')}, and ${gpu} · prompt of ${counted(prompt, 'token')}, ${counted(tokens, 'token')} decoded · ${counted(repeats, 'repeat')}`,
      findings: splitFindings(found),
      data: {
        settings: { model: model.name, mix: model.mix, gpu, threads, prompt, tokens, repeats, seed },
        splits,
        ablations,
        batches: found.batches,
      },
      text: splitsText(found),
      page: splitsPage(found),
      files: {
        'splits.csv': tableCsv(splitsTable(splits)),
        'batches.csv': tableCsv(batchTable(found)),
        'profile.json': profile,
      },
    };
  },
});

/** With a profile nothing is probed, so no file for probing is needed. */
async function calibrated(
  {
    profile,
    diskFile,
    out,
    seed,
  }: { profile: string | undefined; diskFile: string | undefined; out: string; seed: number },
  asked: Omit<SplitsToRun, 'calibration'>,
): Promise<SplitsRun> {
  const addon = loadAddon();
  if (typeof addon === 'string')
    throw new InputError('native kernels', `not available (${addon}); install g++ and run: npm run build:native`);
  if (profile !== undefined) return await runSplits({ ...asked, calibration: { profile } });
  if (diskFile === undefined) makeOutputFolder('--out', dirname(out));
  const weightsFile = diskFile ?? temporaryPath(join(dirname(out), 'hearth-split'));
  return await withWeightsFile(weightsFile, seed, () => {
    const disk = measureDisk(addon, weightsFile, WEIGHTS_FILE_BYTES, () => {});
    return runSplits({ ...asked, calibration: { weightsFile, disk } });
  });
}

/** @throws InputError for a profile without a GPU */
function readProfile(flag: string, file: string): string {
  const profile = readText(file, 'give a file of hearth profile');
  if (parseCluster(profile, file).devices[0]?.gpu === undefined)
    throw new InputError(flag, `${file} has no GPU; measure it: hearth profile --device <name>`);
  return profile;
}
