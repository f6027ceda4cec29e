import { parseArgs } from 'node:util';
import { planWithLayers } from '../../engine/commands/gpu-layers.ts';
import { formatSeconds } from '../../engine/input/format.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import type { SplitPlan } from '../../engine/plan/plan.ts';
import { gpuClock, hostLinkOf } from '../../engine/profile/gpu-probes.ts';
import { crossing, largeCrossing } from '../../engine/profile/probes/crossing.ts';
import { sampleOf } from '../../engine/profile/sample.ts';
import { openSplitModel } from '../../engine/runtime/split-transformer.ts';
import { goldenModel } from '../support/golden-models.ts';

/**
 * Times what a crossing to a GPU and back costs in a split model by itself, beside what a profile predicts from its
 * probes: `tsx test/bench/crossing.ts`. The first layer is on the GPU, embedding, last layer and output on the CPU; the
 * GPU has computed what it was given before either direction is timed.
 */
const { values: asked } = parseArgs({
  options: {
    model: { type: 'string' },
    device: { type: 'string' },
    rounds: { type: 'string', default: '5' },
  },
});
const path = asked.model ?? goldenModel('llama-Q8_0');
const rounds = Number(asked.rounds);
const TOKENS = [1, 16, 64];

const { kernels: gpu, adapter } = await openGpuKernels({ adapter: asked.device });
const cpu = openKernels();
const tiny = gpu.vector(1);
const now = (): number => performance.now() / 1000;
const median = (values: readonly number[]): number => sampleOf(values).median;

/** Seconds of each direction; those to the GPU include one of `idle`, the reading by which they are known to end. */
const seen = { there: [] as number[], back: [] as number[], idle: [] as number[] };
const timed: Kernels = {
  ...gpu,
  async read(vector) {
    await gpu.read(tiny);
    const start = now();
    await gpu.read(vector);
    seen.back.push(now() - start);
    const idle = now();
    await gpu.read(tiny);
    seen.idle.push(now() - idle);
    // The way there, of the same bytes, while the GPU has nothing else to do.
    const there = now();
    gpu.write(vector);
    await gpu.read(tiny);
    seen.there.push(now() - there);
  },
};
const opened = openSplitModel(path, { cpu, gpu: timed, context: Math.max(...TOKENS) });
const { layers, hiddenSize } = opened.model;
const plan = planWithLayers(opened.model, layers - 1);
const onCpu = { device: 'this machine', processor: 'cpu' } as const;
const split: SplitPlan = {
  ...plan,
  output: onCpu,
  stages: [
    { ...onCpu, processor: 'gpu', from: 0, to: 1 },
    { ...onCpu, from: 1, to: layers },
  ],
};
const transformer = await opened.on(split);
const bench = { kernels: gpu, clock: gpuClock(gpu), weights: new Uint8Array(4), weightBytes: 4 };
const probes = { crossing: crossing(bench), largeCrossing: largeCrossing(bench) };
const measured = { crossing: [] as number[], largeCrossing: [] as number[] };
const found = new Map(TOKENS.map((tokens) => [tokens, [] as number[]]));
for (let round = 0; round <= rounds; round++) {
  const samples = { crossing: await probes.crossing(), largeCrossing: await probes.largeCrossing() };
  if (round > 0) for (const name of ['crossing', 'largeCrossing'] as const) measured[name].push(samples[name]);
  for (const tokens of TOKENS) {
    for (const list of Object.values(seen)) list.length = 0;
    for (let repeat = 0; repeat < 8; repeat++) {
      transformer.rewind(0);
      await transformer.evaluate(Array.from({ length: tokens }, (_, token) => 1 + token));
    }
    if (round > 0) found.get(tokens)?.push(median(seen.there) - median(seen.idle) + median(seen.back));
  }
}
const link = hostLinkOf({ crossing: sampleOf(measured.crossing), largeCrossing: sampleOf(measured.largeCrossing) });
process.stdout.write(
  `${adapter}: latency ${formatSeconds(link.latency)}, ${(link.bandwidth / 1e9).toFixed(2)} GB/s each way\n`,
);
for (const [tokens, seconds] of found) {
  const bytes = 4 * tokens * hiddenSize;
  const predicted = 2 * (link.latency + bytes / link.bandwidth);
  const [own, error] = [median(seconds), 100 * (predicted / median(seconds) - 1)];
  process.stdout.write(
    `${tokens} tokens, ${bytes} bytes, there and back: measured ${formatSeconds(own)}, predicted ${formatSeconds(predicted)} (${error.toFixed(0)} %)\n`,
  );
}
opened.close();
gpu.close();
cpu.close();
