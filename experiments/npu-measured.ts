import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadClusterFile } from '../datasets/load.ts';
import { withFile } from '../engine/gguf/file-source.ts';
import { readGguf } from '../engine/gguf/read-gguf.ts';
import { chipDevice } from '../engine/hardware/chip.ts';
import type { Device } from '../engine/hardware/device.ts';
import { counted } from '../engine/input/format.ts';
import type { KernelOptions } from '../engine/kernels/open-kernels.ts';
import { readCount, readList } from '../engine/terminal/options.ts';
import { madeModel } from './measure/made-models.ts';
import { TWO_LAYERS } from './measure/two-layer-model.ts';
import { cellsTable, npuFindings } from './npu-measured/columns.ts';
import { npuPage } from './npu-measured/report.ts';
import { runNpu } from './npu-measured/run.ts';
import { tableCsv, terminalTable } from './report/columns.ts';
import { runExperiment } from './report/experiment.ts';
import { modelText } from './report/model-text.ts';
import { choice, count, option, text } from './report/options.ts';

/** The GPU's thread must be slower than the NPU's, which has all vector instructions, by as much as a chip's GPU is. */
const GPU_KERNELS = {
  scalar: { implementation: 'native', instructionSet: 'scalar', threads: 1 },
  reference: { implementation: 'reference' },
} as const satisfies Readonly<Record<string, KernelOptions>>;
type GpuKernels = keyof typeof GPU_KERNELS;

/** HeteroLLM, executed on two threads: one has the GPU's part of every operator, the other stands for the NPU. */
await runExperiment({
  name: 'npu-measured',
  description:
    'HeteroLLM’s systems on two threads of this machine, one of which stands for a chip’s NPU: predicted, simulated, measured.',
  options: {
    model: text('--model <file>', 'a GGUF file; a random one of 7 million weights unless given'),
    cache: text('--cache <dir>', 'where the random model is kept', join(tmpdir(), 'hearth-models')),
    cluster: text(
      '--cluster <key>',
      'a cluster of datasets/clusters, or a file, whose head is a chip with an NPU; it is slowed until its GPU is as fast as a thread',
      'hetero-8gen3',
    ),
    kernels: choice(
      '--kernels <name>',
      'kernels of the GPU’s thread: scalar are native ones without vector instructions, which the NPU’s have',
      Object.keys(GPU_KERNELS) as GpuKernels[],
      'scalar',
    ),
    lengths: option(
      '--lengths <list>',
      'tokens of prompts',
      (flag, list) => readList(flag, list).map((item) => readCount(flag, item, 2, 4096)),
      { default: '64,135' },
    ),
    tokens: count('--tokens <n>', 'tokens decoded after each prompt', { default: 16, most: 1000 }),
    repeats: count(
      '--repeats <n>',
      'runs of each cell, of which the half that other programs disturbed least counts; one more comes before them',
      {
        default: 9,
        most: 1000,
      },
    ),
  },
  json: 'npu-measured.json',
  files: ['cells.csv'],
  seed: { help: 'of the random model' },
  async run(options, { progress }) {
    const { kernels, lengths, tokens, repeats, seed } = options;
    const loaded = loadClusterFile(options.cluster);
    const { cluster } = loaded;
    chipDevice(cluster.devices[0] as Device); // a mistake shows before minutes of measuring
    const file = options.model ?? (await madeModel(options.cache, TWO_LAYERS, 'Q8_0', seed));
    withFile(file, readGguf);
    const found = await runNpu({
      file,
      kernels: GPU_KERNELS[kernels],
      cluster,
      lengths,
      outputTokens: tokens,
      repeats,
      progress,
    });
    const { model, measured, cells, regrets } = found;
    return {
      subtitle: `${modelText(model)} on ${hostname()}: ${cluster.name}, slowed to a thread with ${kernels} kernels · ${counted(tokens, 'token')} decoded · ${counted(repeats, 'repeat')}`,
      findings: npuFindings(found),
      data: {
        settings: { model: model.name, mix: model.mix, cluster: cluster.name, kernels, lengths, tokens, repeats, seed },
        measured,
        cells,
        regrets,
      },
      text: [terminalTable(cellsTable(found))],
      page: npuPage(found),
      files: { 'cells.csv': tableCsv(cellsTable(found)) },
      clusters: [loaded],
    };
  },
});
