import { type Cluster, createCluster } from '../../engine/hardware/cluster.ts';
import type { Device, FlopRates, Gpu } from '../../engine/hardware/device.ts';
import { type Shape, type UniformShape, uniformShape } from '../../engine/model/architecture.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';

/** HELM 4.1.1: the model of the thesis's running example. */
export const QWEN3: UniformShape = {
  name: 'Qwen3-8B',
  architecture: 'qwen3',
  layers: 36,
  hiddenSize: 4096,
  ffnSize: 12288,
  heads: 32,
  kvHeads: 8,
  headSize: 128,
  vocabularySize: 151936,
  tiedEmbeddings: false,
  qkvBias: false,
};
export const QWEN3_8B: Shape = uniformShape(QWEN3);

export interface Machine {
  readonly ram?: number;
  readonly vram?: number;
  /** `none`: no GPU; `unified`: one that shares the RAM. */
  readonly gpu?: 'discrete' | 'unified' | 'none';
  readonly cpuBandwidth?: number;
  readonly gpuBandwidth?: number;
  readonly cache?: Device['cpu']['cache'];
  readonly layerOverhead?: number;
  readonly flops?: number;
}

/**
 * HELM 4.1.2: the machine of the running example: 45 GB/s, 24 MiB of L3 at three times that, 218 GB/s, PCIe at 16 GB/s
 * and 5 µs, with 7.5 GB of VRAM.
 */
export function oneMachine({
  ram = 14 * 2 ** 30,
  vram = 7.5e9,
  gpu = 'discrete',
  cpuBandwidth = 45e9,
  gpuBandwidth = 218e9,
  cache = { bytes: 24 * 2 ** 20, bandwidth: 135e9 },
  layerOverhead = 0.14e-3,
  flops = 1e12,
}: Machine = {}): Cluster {
  const rates = Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, flops])) as FlopRates;
  const common = {
    flops: rates,
    bandwidth: gpuBandwidth,
    kvCopyLatency: 5e-6,
    layerOverhead,
    memory: { total: vram, available: vram },
  };
  const gpus: Record<NonNullable<Machine['gpu']>, Gpu | undefined> = {
    discrete: { ...common, api: 'cuda', hostLink: { latency: 5e-6, bandwidth: 16e9 } },
    unified: { ...common, api: 'opencl' },
    none: undefined,
  };
  const device: Device = {
    name: 'PC',
    description: '',
    os: 'linux',
    memory: { total: ram, available: ram, swappable: 0, swapFree: 0 },
    cpu: { cores: 16, flops: rates, bandwidth: cpuBandwidth, kvCopyLatency: 1e-6, cache },
    gpu: gpus[gpu],
    npu: undefined,
    disk: { sequential: 3e9, random: 1e9 },
  };
  return createCluster({
    name: 'one machine',
    devices: [device],
    links: { default: { latency: 0, bandwidth: 1e9 }, pairs: new Map() },
  });
}
