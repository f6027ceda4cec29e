import type { Runtime } from '../../engine/cost/runtime.ts';
import { type Cluster, createCluster, pairKey } from '../../engine/hardware/cluster.ts';
import type { Device, FlopRates, Gpu, Link } from '../../engine/hardware/device.ts';
import { meanWidths, type UniformShape, uniformShape } from '../../engine/model/architecture.ts';
import { countKinds, type Model } from '../../engine/model/model.ts';
import { QUANTIZATION_NAMES, type Quantization } from '../../engine/model/quantization.ts';
import { createWorkload } from '../../engine/model/workload.ts';

/**
 * A model for mental arithmetic. With TOY_WORKLOAD: a layer has 4000 bytes of weights and 1000 of KV cache (b′ = 5000),
 * the output layer 3000, a row of the embedding 200; 100 bytes of keys and values are appended per layer, and 100 bytes
 * travel between devices; attention takes 2000 FLOPs per layer.
 */
export const TOY_MODEL: Model = toyModel();

/** Ten tokens in the KV cache. */
export const TOY_WORKLOAD = createWorkload({ context: 10 });

/** c^cpu 300 bytes, c^gpu 200 bytes. */
export const TOY_RUNTIME: Runtime = { cpuBufferBytes: 300, gpuBufferBytes: 200, activationBytes: 4 };

/**
 * A layer takes 10.6 s: 6000/3000 + 2000/2000 + 2000/1000 s of compute, 5000/1000 s of loading, 0.5 + 100/1000 s of
 * copying KV. The output layer takes 5.2 s: 4000/2000 s and 3200/1000 s.
 */
export const TOY_CPU: Device['cpu'] = {
  cores: 4,
  flops: rates({ Q4_K: 3000, Q6_K: 2000, F16: 1000 }),
  bandwidth: 1000,
  kvCopyLatency: 0.5,
  cache: undefined,
};

/** A layer takes 3.27 s: 1 + 0.5 + 0.5 s, 5000/5000 s, 0.25 + 100/5000 s. The output layer: 1.64 s, 1 + 3200/5000 s. */
const GPU_RATES = {
  flops: rates({ Q4_K: 6000, Q6_K: 4000, F16: 4000 }),
  bandwidth: 5000,
  kvCopyLatency: 0.25,
  layerOverhead: 0,
};

/** A GPU with `available` bytes. CUDA and WebGPU: 100 bytes take 0.1 + 100/1000 s each way. */
export function toyGpu(api: Gpu['api'], available: number): Gpu {
  const common = { ...GPU_RATES, memory: { total: 1e6, available } };
  if (api === 'metal' || api === 'opencl') return { ...common, api };
  return { ...common, api, hostLink: { latency: 0.1, bandwidth: 1000 } };
}

/** A Linux PC without a GPU, with a million bytes of RAM and a disk of 100 B/s sequentially and 50 B/s at random. */
export function toyDevice(name: string, given: Partial<Device> = {}): Device {
  return {
    name,
    description: '',
    os: 'linux',
    memory: toyMemory(1e6),
    cpu: TOY_CPU,
    gpu: undefined,
    npu: undefined,
    disk: { sequential: 100, random: 50 },
    ...given,
  };
}

export function toyMemory(available: number, swap: { swappable: number; swapFree: number } | undefined = undefined) {
  return { total: 1e6, available, swappable: swap?.swappable ?? 0, swapFree: swap?.swapFree ?? 0 };
}

/** The message of 100 bytes takes 0.5 + 100/200 = 1 s between all devices except the given pairs. */
export function toyCluster(devices: readonly Device[], pairs: Readonly<Record<string, Link>> = {}): Cluster {
  const own = Object.entries(pairs).map(([names, link]): [string, Link] => {
    const [a = '', b = ''] = names.split('-');
    return [pairKey(a, b), link];
  });
  return createCluster({
    name: 'toy',
    devices,
    links: { default: { latency: 0.5, bandwidth: 200 }, pairs: new Map(own) },
  });
}

/** Rates by format; formats that the toy model doesn't use are extremely slow, so that their use is noticed. */
function rates(known: Partial<Record<Quantization, number>>): FlopRates {
  return Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, known[name] ?? 1e-9])) as FlopRates;
}

/** TOY_MODEL with other sizes, and the same bytes and FLOPs. */
export function toyModel(sizes: Partial<UniformShape> = {}): Model {
  const shape = uniformShape({
    name: 'toy',
    architecture: 'llama',
    layers: 4,
    hiddenSize: 25,
    ffnSize: 50,
    heads: 10,
    kvHeads: 5,
    headSize: 5,
    vocabularySize: 100,
    tiedEmbeddings: false,
    qkvBias: false,
    ...sizes,
  });
  return {
    ...shape,
    mean: meanWidths(shape),
    layersByKind: countKinds(shape),
    mix: 'Q4_K_M',
    tensors: [],
    layer: {
      bytes: 4000,
      routed: [],
      flops: new Map([
        ['Q4_K', 6000],
        ['Q6_K', 2000],
      ]),
    },
    embedding: { bytes: 20_000, routed: [], flops: new Map() },
    output: { bytes: 3000, routed: [], flops: new Map([['Q6_K', 4000]]) },
    bytes: 39_000,
  };
}
