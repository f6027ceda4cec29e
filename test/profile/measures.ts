import { QUANTIZATION_NAMES, QUANTIZATIONS } from '../../engine/model/quantization.ts';
import type { GpuMeasures } from '../../engine/profile/gpu-probes.ts';
import type { ProcessorMeasures } from '../../engine/profile/processor-probes.ts';
import type { MachineProfile } from '../../engine/profile/profile-machine.ts';

const sample = (median: number) => ({ median, spread: 0.02, repeats: 7 });

/**
 * Measurements of a processor that reads weights of every format at 10 GB/s, with an additional time that differs by
 * format.
 */
export const MEASURES: ProcessorMeasures = {
  threads: 2,
  vectorProducts: new Map(
    QUANTIZATION_NAMES.map((type, index) => {
      const { block, bytes } = QUANTIZATIONS[type];
      return [type, sample((bytes / block / 10e9) * (1 + index / 10))];
    }),
  ),
  matrixProducts: new Map(QUANTIZATION_NAMES.map((type, index) => [type, sample((100 + index) * 1e-12)])),
  fewPrompt: new Map(QUANTIZATION_NAMES.map((type, index) => [type, sample(40 * (100 + index) * 1e-12)])),
  onePrompt: sample(15 * 100e-12),
  attentionFromMemory: sample(5e9),
  attentionFromCache: sample(9e9),
  quantizedAttention: new Map([['Q8_0', { memory: sample(3e9), cache: sample(7e9) }]]),
  keyValueCopy: sample(3e-6),
  smallPass: { shallow: sample(50e-6 + 2 * 20e-6), deep: sample(50e-6 + 24 * 20e-6) },
  activations: sample(4e9),
};

export const PROFILE: MachineProfile = {
  name: 'laptop',
  memory: {
    os: 'linux',
    memory: { total: 16 * 2 ** 30, available: 11 * 2 ** 30, swappable: 0, swapFree: 0 },
    rule: 'MemAvailable of Linux',
  },
  cpu: MEASURES,
  gpu: undefined,
  reading: { one: sample(8e9), all: sample(11e9) },
  cache: { bytes: 32 * 2 ** 20, rate: sample(30e9) },
  disk: { sequential: sample(2e9), random: sample(0.05e9), resident: 0 },
  instructionSet: 'avx2',
};

/** A GPU as quick as the processor, to which a hidden state's 8 KiB take 1 ms there and back, and 4 MiB 5 ms. */
export const GPU: GpuMeasures = {
  adapter: 'Test GPU',
  processor: MEASURES,
  crossing: sample(1e-3),
  repeatedCrossing: sample(0.5e-3),
  largeCrossing: sample(5e-3),
  memory: { bytes: 8 * 2 ** 30, rule: 'as much as could be allocated' },
};
