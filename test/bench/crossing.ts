import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { planWithLayers } from '../../commands/gpu-layers.ts';
import { formatPercent, formatSeconds } from '../../engine/input/format.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { SplitPlan } from '../../engine/plan/plan.ts';
import { hostLinkOf } from '../../engine/profile/gpu-probes.ts';
import { crossing, largeCrossing } from '../../engine/profile/probes/crossing.ts';
import { sampleOf } from '../../engine/profile/sample.ts';
import { openSplitModel } from '../../engine/runtime/split/split-transformer.ts';
import { madeModel, SMALL_MODEL } from '../../experiments/measure/made-models.ts';

/**
 * The cost of crossing to a GPU and back in a split model, compared with what a profile says: `tsx test/bench/crossing.ts`.
 * A layer in the middle is on the GPU, all others, embedding and output are on the CPU. From the moment at which the
 * hidden state is handed over until it is back, what the GPU computed by its own clock, and what it took to tell it, is
 * subtracted. Probes of `hearth profile` and passes run by turns.
 */
const { values: asked } = parseArgs({
  options: {
    model: { type: 'string' },
    device: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    passes: { type: 'string', default: '12' },
    threads: { type: 'string' },
  },
});
const path = asked.model ?? (await madeModel(join(tmpdir(), 'hearth-models'), SMALL_MODEL, 'Q8_0', 1));
const [rounds, passes] = [Number(asked.rounds), Number(asked.passes)];
const TOKENS = [1, 4];

const { kernels: gpu, adapter } = await openGpuKernels({ adapter: asked.device });
const { deviceSeconds } = gpu;
if (deviceSeconds === undefined) throw new InputError(adapter, 'has no timestamps, without which passes are not known');
const cpu = openKernels(asked.threads === undefined ? {} : { threads: Number(asked.threads) });
const now = (): number => performance.now() / 1000;
const median = (values: readonly number[]): number => sampleOf(values).median;

/** The stage on the GPU: when it was handed the hidden state, was told what to do with it, and when that was back. */
const stage = { begun: 0, handed: 0, told: 0, ended: 0 };
let width = 0;
const timed: Kernels = {
  ...gpu,
  write(vector) {
    const start = now();
    gpu.write(vector);
    if (vector.values.length === width) Object.assign(stage, { begun: start, handed: now() });
  },
  run(operations) {
    gpu.run(operations);
    stage.told = now();
  },
  async read(vector) {
    await gpu.read(vector);
    stage.ended = now();
  },
};
const opened = openSplitModel(path, { cpu, gpu: timed, context: Math.max(...TOKENS) });
const { layers, hiddenSize } = opened.model;
const onCpu = { device: 'this machine', processor: 'cpu' } as const;
const [from, to] = [Math.floor(layers / 2), Math.floor(layers / 2) + 1];
const split: SplitPlan = {
  ...planWithLayers(opened.model, layers - 1),
  output: onCpu,
  stages: [
    { ...onCpu, from: 0, to: from },
    { ...onCpu, processor: 'gpu', from, to },
    { ...onCpu, from: to, to: layers },
  ],
};
const transformer = await opened.on(split);
const probes = { crossing: crossing({ gpu, cpu }), largeCrossing: largeCrossing({ gpu, cpu }) };
const found = { crossing: [] as number[], largeCrossing: [] as number[] };
const seen = new Map(TOKENS.map((tokens) => [tokens, [] as number[]]));
const computed = new Map(TOKENS.map((tokens) => [tokens, [] as number[]]));
for (let round = 0; round <= rounds; round++) {
  for (const size of ['crossing', 'largeCrossing'] as const) {
    const seconds = await probes[size]();
    if (round > 0) found[size].push(seconds);
  }
  for (const [tokens, values] of seen) {
    width = tokens * hiddenSize;
    for (let pass = 0; pass < passes; pass++) {
      transformer.rewind(0);
      const onGpu = await deviceSeconds(async () => {
        await transformer.evaluate(Array.from({ length: tokens }, (_, token) => 1 + token));
      });
      if (round === 0) continue;
      computed.get(tokens)?.push(onGpu);
      values.push(stage.ended - stage.begun - (stage.told - stage.handed) - onGpu);
    }
  }
}
const link = hostLinkOf({ crossing: sampleOf(found.crossing), largeCrossing: sampleOf(found.largeCrossing) });
process.stdout.write(
  `${adapter}: latency ${formatSeconds(link.latency)}, ${(link.bandwidth / 1e9).toFixed(2)} GB/s each way\n`,
);
for (const [tokens, values] of seen) {
  const bytes = 4 * tokens * hiddenSize;
  const predicted = 2 * (link.latency + bytes / link.bandwidth);
  const measured = sampleOf(values);
  const error = (100 * (predicted / measured.median - 1)).toFixed(0);
  process.stdout.write(
    `${tokens} tokens, ${bytes} bytes, there and back: predicted ${formatSeconds(predicted)}, measured ${formatSeconds(measured.median)} ± ${formatPercent(measured.spread)} (${error} %), next to ${formatSeconds(median(computed.get(tokens) ?? []))} on the GPU\n`,
  );
}
opened.close();
gpu.close();
cpu.close();
