import { planWithLayers } from '../../../commands/gpu-layers.ts';
import type { Kernels } from '../../../engine/kernels/kernels.ts';
import { openKernels } from '../../../engine/kernels/open-kernels.ts';
import { openGpuKernels } from '../../../engine/kernels/webgpu/node-gpu.ts';
import { QUANTIZATIONS, type Quantization } from '../../../engine/model/quantization.ts';
import { gpuClock } from '../../../engine/profile/gpu-probes.ts';
import { type ProductProbes, productProbes } from '../../../engine/profile/probes/products.ts';
import { openSplitModel } from '../../../engine/runtime/split/split-transformer.ts';
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
  const probes = limitProbes(kernels);
  return {
    description: `Hearth, WebGPU: ${adapter}`,
    async prefill(tokens) {
      transformer.rewind(0);
      next = await evaluate(tokens);
    },
    async decode(count) {
      for (let i = 0; i < count; i++) next = await evaluate([next]);
    },
    async limits(of) {
      const [decode, prefill] = [of !== 'prefill', of !== 'decode'];
      return {
        readBandwidth: decode ? Math.max(await probes.read('F16'), await probes.read('F32')) : Number.NaN,
        floatPeak: prefill ? await probes.multiply('F16') : Number.NaN,
        bytePeak: prefill ? await probes.multiply('Q8_0') : Number.NaN,
      };
    },
  };
}

/** The probes of `hearth profile`, with weights of their own that come to the GPU when they are first asked for. */
function limitProbes(kernels: Kernels) {
  const weights = new Uint8Array(PROBE_BYTES).fill(PROBE_BYTE);
  let products: ProductProbes | undefined;
  const made = new Map<string, () => Promise<number>>();
  const measured = (key: string, make: (products: ProductProbes) => () => Promise<number>): Promise<number> => {
    products ??= productProbes({ kernels, clock: gpuClock(kernels), weights, weightBytes: PROBE_BYTES });
    const measure = made.get(key) ?? make(products);
    made.set(key, measure);
    return measure();
  };
  return {
    /** Bytes of weights per second in products with one token. */
    async read(type: Quantization): Promise<number> {
      const { bytes, block } = QUANTIZATIONS[type];
      return bytes / block / (await measured(`read ${type}`, ({ vector }) => vector(type)));
    },
    /** Multiplications and additions per second in products with a prompt. */
    multiply: async (type: Quantization): Promise<number> =>
      2 / (await measured(`multiply ${type}`, ({ matrix }) => matrix(type))),
  };
}

await serve(load);
