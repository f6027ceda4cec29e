import { parseArgs } from 'node:util';
import { planWithLayers } from '../../engine/commands/gpu-layers.ts';
import { formatSeconds } from '../../engine/input/format.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import { openKernels } from '../../engine/kernels/open-kernels.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import { openGpuKernels } from '../../engine/kernels/webgpu/node-gpu.ts';
import { quantizedBytes } from '../../engine/model/quantization.ts';
import type { SplitPlan } from '../../engine/plan/plan.ts';
import { gpuClock, hostLinkOf } from '../../engine/profile/gpu-probes.ts';
import { CROSSING_BYTES, crossing, LARGE_CROSSING_BYTES, largeCrossing } from '../../engine/profile/probes/crossing.ts';
import { sampleOf } from '../../engine/profile/sample.ts';
import { openSplitModel } from '../../engine/runtime/split-transformer.ts';
import { goldenModel } from '../support/golden-models.ts';

/**
 * Times what a crossing to a GPU and back costs in a split model by itself, beside what a profile predicts from its
 * probes: `tsx test/bench/crossing.ts`. The first layer is on the GPU, embedding, last layer and output on the CPU; the
 * GPU has computed what it was given before either direction is timed. The way there is timed twice: after the GPU has
 * computed, and at once after the CPU has, whose threads then still wait for work. So are the probes: crossings in a
 * row, as `hearth profile` times them, and single ones after the CPU has computed.
 */
const { values: asked } = parseArgs({
  options: {
    model: { type: 'string' },
    device: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string' },
  },
});
const path = asked.model ?? goldenModel('llama-Q8_0');
const rounds = Number(asked.rounds);
const TOKENS = [1, 16, 64];

const { kernels: gpu, adapter } = await openGpuKernels({ adapter: asked.device });
const cpu = openKernels(asked.threads === undefined ? {} : { threads: Number(asked.threads) });
const tiny = gpu.vector(1);
let stream: Vector | undefined;
const now = (): number => performance.now() / 1000;
const median = (values: readonly number[]): number => sampleOf(values).median;

/** Seconds of each direction; those to the GPU include one of `idle`, the reading by which they are known to end. */
const seen = { there: [] as number[], back: [] as number[], idle: [] as number[], afterCpu: [] as number[] };
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
    stream = vector;
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
const WAYS = ['in a row', 'after the CPU'] as const;
const probes = {
  'in a row': { crossing: crossing(bench), largeCrossing: largeCrossing(bench) },
  'after the CPU': { crossing: single(CROSSING_BYTES / 4), largeCrossing: single(LARGE_CROSSING_BYTES / 4) },
};
const SIZES = ['crossing', 'largeCrossing'] as const;
const samples = WAYS.map(() => ({ crossing: [] as number[], largeCrossing: [] as number[] }));
const found = new Map(
  TOKENS.map((tokens) => [tokens, [] as { readonly afterGpu: number; readonly afterCpu: number }[]]),
);
for (let round = 0; round <= rounds; round++) {
  for (const [index, way] of WAYS.entries())
    for (const size of SIZES) {
      const seconds = await probes[way][size]();
      if (round > 0) samples[index]?.[size].push(seconds);
    }
  for (const tokens of TOKENS) {
    for (const list of Object.values(seen)) list.length = 0;
    for (let repeat = 0; repeat < 8; repeat++) {
      transformer.rewind(0);
      await transformer.evaluate(Array.from({ length: tokens }, (_, token) => 1 + token));
      // The CPU computed last.
      const start = now();
      gpu.write(stream as Vector);
      await gpu.read(tiny);
      seen.afterCpu.push(now() - start);
    }
    if (round === 0) continue;
    const back = median(seen.back) - median(seen.idle);
    found.get(tokens)?.push({ afterGpu: median(seen.there) + back, afterCpu: median(seen.afterCpu) + back });
  }
}
const links = samples.map((one) =>
  hostLinkOf({ crossing: sampleOf(one.crossing), largeCrossing: sampleOf(one.largeCrossing) }),
);
for (const [index, { latency, bandwidth }] of links.entries())
  process.stdout.write(
    `${adapter}, probed ${WAYS[index]}: latency ${formatSeconds(latency)}, ${(bandwidth / 1e9).toFixed(2)} GB/s each way\n`,
  );
for (const [tokens, rounds] of found) {
  const bytes = 4 * tokens * hiddenSize;
  const predicted = links.map(({ latency, bandwidth }) => 2 * (latency + bytes / bandwidth));
  const ways = (['afterGpu', 'afterCpu'] as const).map((way) => {
    const seconds = median(rounds.map((round) => round[way]));
    const errors = predicted.map((one) => `${(100 * (one / seconds - 1)).toFixed(0)} %`);
    return `after the ${way === 'afterGpu' ? 'GPU' : 'CPU'} ${formatSeconds(seconds)} (${errors.join(', ')})`;
  });
  process.stdout.write(
    `${tokens} tokens, ${bytes} bytes, there and back: predicted ${predicted.map(formatSeconds).join(', ')}; measured ${ways.join(', ')}\n`,
  );
}
opened.close();
gpu.close();
cpu.close();

/** Times crossings one by one, each at once after a product on the CPU. */
function single(values: number): () => Promise<number> {
  const [rows, columns] = [2048, 2048];
  const source = new Uint8Array(rows * quantizedBytes(columns, 'Q8_0')).fill(0x2a);
  const matrix = cpu.matrix({ source, type: 'Q8_0', rows, columns });
  const [x, y] = [cpu.vector(columns), cpu.vector(rows)];
  const vector = gpu.vector(values);
  return async () => {
    const seconds: number[] = [];
    for (let repeat = 0; repeat < 16; repeat++) {
      cpu.run([{ kind: 'multiply', matrix, x, y }]);
      const start = now();
      gpu.write(vector);
      await gpu.read(vector);
      seconds.push(now() - start);
    }
    return median(seconds);
  };
}
