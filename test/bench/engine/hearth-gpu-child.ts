import { planWithLayers } from '../../../engine/commands/gpu-layers.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../../engine/kernels/webgpu/node-gpu.ts';
import { QUANTIZATIONS } from '../../../engine/model/quantization.ts';
import { gpuClock } from '../../../engine/profile/gpu-probes.ts';
import { productProbes } from '../../../engine/profile/probes/products.ts';
import { openSplitModel } from '../../../engine/runtime/split-transformer.ts';
import type { Contestant, Task } from './contestant.ts';
import { serve } from './serve.ts';

/** Bytes of weights that the probe reads, more than the caches of today's GPUs hold. */
const PROBE_BYTES = 128 * 2 ** 20;
/** Bytes that are reasonable floats, like those of the probes' file. */
const PROBE_BYTE = 0x2b;

/** All layers and the output on the GPU. */
async function load({ model, threads, context, gpu }: Task): Promise<Contestant> {
  const cpu = openKernels({ implementation: 'native', threads });
  const { kernels, adapter } = await openGpuKernels({ adapter: gpu?.device });
  const opened = openSplitModel(model, { cpu, gpu: kernels, context });
  const transformer = await opened.on(planWithLayers(opened.model, 'all'));
  // As `generate` chooses greedily: the GPU gives the most likely token alone.
  const evaluate = async (tokens: readonly number[]): Promise<number> =>
    (await transformer.candidates?.(tokens, 1))?.[0]?.token ?? Number.NaN;
  let next = Number.NaN;
  let probes: (() => Promise<number>)[] | undefined;
  return {
    description: `Hearth, WebGPU: ${adapter}`,
    async prefill(tokens) {
      transformer.rewind(0);
      next = await evaluate(tokens);
    },
    async decode(count) {
      for (let i = 0; i < count; i++) next = await evaluate([next]);
    },
    async limits() {
      const weights = new Uint8Array(probes === undefined ? PROBE_BYTES : 0).fill(PROBE_BYTE);
      const bench = { kernels, clock: gpuClock(kernels), weights, weightBytes: PROBE_BYTES };
      probes ??= (['F16', 'F32'] as const).map((type) => {
        const { bytes, block } = QUANTIZATIONS[type];
        const perWeight = productProbes(bench).vector(type);
        return async () => bytes / block / (await perWeight());
      });
      const rates: number[] = [];
      for (const probe of probes) rates.push(await probe());
      return { readBandwidth: Math.max(...rates), floatPeak: Number.NaN, bytePeak: Number.NaN };
    },
  };
}

await serve(load);
