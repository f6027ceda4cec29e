import type { ChipDevice } from '../../engine/hardware/chip.ts';
import type { Soc } from '../../engine/hardware/device.ts';
import { type UniformShape, uniformShape } from '../../engine/model/architecture.ts';
import { createModel, type Model } from '../../engine/model/model.ts';
import { QUANTIZATION_NAMES } from '../../engine/model/quantization.ts';
import { toyDevice } from './toy-cluster.ts';

const level = (rate: number) =>
  Object.fromEntries(QUANTIZATION_NAMES.map((name) => [name, rate])) as ChipDevice['npu']['flops'];

/** Graphs of 4, 8 and 16 tokens; synchronisation in whole seconds, without granularity. */
export const TOY_SOC: Soc = {
  bandwidth: 150,
  npu: {
    tile: 4,
    onChip: 2 ** 20,
    dequantise: Number.POSITIVE_INFINITY,
    shortestGraph: 4,
    longestGraph: 16,
    graphBase: 10,
    graphRate: 32,
  },
  gpu: { queued: 0, drained: 3, dequantise: Number.POSITIVE_INFINITY },
  synchronisation: { copy: 7, sleep: 0, poll: 0, notify: 2 },
  power: { idle: 1, gpu: { calculating: 10, waiting: 4 }, npu: { calculating: 5, waiting: 2 } },
};

/** A chip for mental arithmetic: GPU 64 FLOP/s and 100 B/s, NPU 128 FLOP/s (a row through a tile in 1/4 s) and 100 B/s. */
export function toyChip(soc: Partial<Soc> = {}, rates: { gpuFlops?: number; npuFlops?: number } = {}): ChipDevice {
  const { gpuFlops = 64, npuFlops = 128 } = rates;
  const gpu = {
    api: 'opencl' as const,
    flops: level(gpuFlops),
    bandwidth: 100,
    kvCopyLatency: 0,
    layerOverhead: 0,
    memory: { total: 1e6, available: 1e6 },
  };
  return {
    ...toyDevice('chip'),
    os: 'android',
    gpu,
    npu: { flops: level(npuFlops), bandwidth: 100 },
    soc: { ...TOY_SOC, ...soc },
  };
}

/** Two layers: qkv 16 × 8, attention output 8 × 8, gate and up 24 × 8, down 8 × 12, output 40 × 8; 2 bytes a weight. */
export const TOY_CHIP: UniformShape = {
  name: 'chip toy',
  architecture: 'llama',
  layers: 2,
  hiddenSize: 8,
  ffnSize: 12,
  heads: 2,
  kvHeads: 1,
  headSize: 4,
  vocabularySize: 40,
  tiedEmbeddings: false,
  qkvBias: false,
};
export const TOY_CHIP_MODEL: Model = createModel(uniformShape(TOY_CHIP), 'F16');
