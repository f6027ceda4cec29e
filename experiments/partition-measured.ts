import { readFileSync } from 'node:fs';
import { availableParallelism, hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadCluster } from '../datasets/load.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { counted } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { KernelOptions } from '../engine/kernels/open-kernels.ts';
import type { Model } from '../engine/model/model.ts';
import { type PartsProfile, parseParts } from '../engine/profile/parts-profile.ts';
import { readCount, readList } from '../engine/terminal/options.ts';
import { madeModel } from './measure/made-models.ts';
import { NARROW_LAYERS } from './measure/two-layer-model.ts';
import { cellsTable, partitionFindings, regretsTable } from './partition-measured/columns.ts';
import { TIMES } from './partition-measured/modes.ts';
import { partitionPage } from './partition-measured/report.ts';
import { runPartitions } from './partition-measured/run.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choice, count, option, text } from './report/options.ts';

/** Without vector instructions the CPU is nearer to a GPU in software. */
const CPU_KERNELS = {
  native: { implementation: 'native' },
  scalar: { implementation: 'native', instructionSet: 'scalar' },
  reference: { implementation: 'reference' },
} as const satisfies Readonly<Record<string, KernelOptions>>;
type CpuKernels = keyof typeof CPU_KERNELS;

/** HeteroLLM's tensor partition, executed: CPU and GPU of this machine share every product, in each way of the paper. */
await runExperiment({
  name: 'partition-measured',
  description:
    'Products shared by CPU and GPU of this machine, by rows, by tokens and both: predicted, simulated, measured.',
  options: {
    model: text('--model <file>', 'a GGUF file; a random one of 2 million weights unless given'),
    cache: text('--cache <dir>', 'where the random model is kept', join(tmpdir(), 'hearth-models')),
    device: text(
      '--device <name>',
      'the GPU, by a part of its name (hearth inspect --devices); the fastest unless given',
    ),
    kernels: choice(
      '--kernels <name>',
      'the CPU’s kernels: scalar are native ones without vector instructions, nearer to a GPU in software',
      Object.keys(CPU_KERNELS) as CpuKernels[],
      'native',
    ),
    threads: count('--threads <n>', 'threads of the CPU', { default: availableParallelism(), most: 1024 }),
    lengths: option(
      '--lengths <list>',
      'tokens of prompts',
      (flag, list) => readList(flag, list).map((item) => readCount(flag, item, 2, 100_000)),
      { default: '64,135,256,300,525,600,1024' },
    ),
    parts: text('--parts <file>', 'times of parts that hearth profile --parts-of measured, in place of measuring them'),
    times: choice(
      '--times <name>',
      'where the solver has the times of parts from that it cuts by: real execution, or predictions',
      TIMES,
      'real',
    ),
    tokens: count('--tokens <n>', 'tokens decoded after each prompt', { default: 8, most: 1000 }),
    repeats: count('--repeats <n>', 'runs of each cell that count; one more comes before them', {
      default: 3,
      most: 1000,
    }),
  },
  json: 'partition-measured.json',
  files: ['cells.csv', 'regrets.csv'],
  seed: { help: 'of the random model, and of what is learned from' },
  async run(options, { progress }) {
    const { device, kernels, threads, lengths, times, tokens, repeats, seed } = options;
    const file = options.model ?? (await madeModel(options.cache, NARROW_LAYERS, 'Q8_0', seed));
    withFile(file, readGguf); // a mistake shows before minutes of measuring
    const cpu = { ...CPU_KERNELS[kernels], threads };
    const { parts: given } = options;
    const parts = given === undefined ? undefined : (model: Model) => readParts(given, model);
    const chip = loadCluster('hetero-8gen3');
    const asked = {
      file,
      kernels: cpu,
      chip,
      device,
      lengths,
      outputTokens: tokens,
      repeats,
      times,
      seed,
      parts,
      progress,
    };
    const found = await runPartitions(asked);
    const { model, cells, paces, regrets } = found;
    return {
      subtitle: `${modelText(model)} on ${hostname()}: CPU (${found.cpu}) and ${found.gpu} · ${counted(tokens, 'token')} decoded · ${counted(repeats, 'repeat')}`,
      findings: partitionFindings(found),
      data: {
        settings: {
          model: model.name,
          mix: model.mix,
          cpu: found.cpu,
          gpu: found.gpu,
          lengths,
          times,
          tokens,
          repeats,
          seed,
        },
        paces,
        regrets,
        cells,
      },
      text: [terminalTable(cellsTable(found)), terminalTable(regretsTable(found))],
      page: partitionPage(found),
      files: { 'cells.csv': tableCsv(cellsTable(found)), 'regrets.csv': tableCsv(regretsTable(found)) },
    };
  },
});

/** @throws InputError for a file that can't be read, or isn't what hearth profile writes for this model */
function readParts(path: string, model: Model): PartsProfile {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new InputError('--parts', `${path} can’t be read: ${(error as Error).message}`);
  }
  return parseParts(text, path, model);
}
