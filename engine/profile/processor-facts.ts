import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../model/quantization.ts';
import { COPIED_BYTES } from './probes/attention.ts';
import { PROMPT_TOKENS } from './probes/products.ts';
import { SMALL_LAYERS } from './probes/small-pass.ts';
import type { ProcessorMeasures } from './processor-probes.ts';
import type { Sample } from './sample.ts';

/** What the cost model needs to know of a processor, in SI units, with the sample that each value was measured from. */
export interface ProcessorFacts {
  readonly flops: ReadonlyMap<Quantization, Fact>;
  readonly promptFlops: ReadonlyMap<Quantization, Fact>;
  readonly bandwidth: Fact;
  readonly kvCopyLatency: Fact;
  readonly attention: { readonly memory: Fact; readonly cache: Fact };
  readonly dispatch: Fact;
  readonly activationBandwidth: Fact;
}

export interface Fact {
  readonly value: number;
  readonly sample: Sample;
}

/**
 * Least time that a product takes in addition to reading its weights, as a share of the reading: smaller differences
 * are within the spread of measurements on a quiet machine.
 */
const LEAST_SHARE = 0.01;

/**
 * Converts measurements into parameters of the cost model. The model adds up computing and reading (prima.cpp Eqs. 12
 * and 14), while kernels do both at once. The bandwidth is therefore that of the format that is read fastest, and each
 * format's FLOP rate follows from the time that its products take in addition to reading at that bandwidth; the sum
 * reproduces the measurement. The first token of a prompt is charged like a single token, and the others share the rest
 * of the prompt's time.
 *
 * @param crossing seconds in which a few bytes go to the processor and back, which a pass through small layers contains;
 * 0 for a CPU
 */
export function processorFacts(measures: ProcessorMeasures, crossing = 0): ProcessorFacts {
  const fastest = [...measures.vectorProducts]
    .map(([type, sample]) => ({ value: bytesPerWeight(type) / sample.median, sample }))
    .reduce((best, one) => (one.value > best.value ? one : best));
  const bandwidth = fastest.value;
  const flops = new Map<Quantization, Fact>();
  const promptFlops = new Map<Quantization, Fact>();
  for (const [type, sample] of measures.vectorProducts) {
    const reading = bytesPerWeight(type) / bandwidth;
    const beyond = Math.max(sample.median - reading, LEAST_SHARE * reading);
    flops.set(type, { value: 2 / beyond, sample });
    const prompt = measures.matrixProducts.get(type) as Sample;
    const others = Math.max(PROMPT_TOKENS * prompt.median - reading - beyond, LEAST_SHARE * reading);
    promptFlops.set(type, { value: (2 * (PROMPT_TOKENS - 1)) / others, sample: prompt });
  }
  const copy = measures.keyValueCopy;
  return {
    flops,
    promptFlops,
    bandwidth: fastest,
    kvCopyLatency: { value: Math.max(0, copy.median - COPIED_BYTES / bandwidth), sample: copy },
    attention: { memory: factOf(measures.attentionFromMemory), cache: factOf(measures.attentionFromCache) },
    dispatch: { value: Math.max(0, measures.smallPass.median - crossing) / SMALL_LAYERS, sample: measures.smallPass },
    activationBandwidth: factOf(measures.activations),
  };
}

function factOf(sample: Sample): Fact {
  return { value: sample.median, sample };
}

function bytesPerWeight(type: Quantization): number {
  const { block } = QUANTIZATIONS[type];
  return quantizedBytes(block, type) / block;
}
