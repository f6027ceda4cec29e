import type { QuantizedKvFormat } from '../model/kv-format.ts';
import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../model/quantization.ts';
import { COPIED_BYTES } from './probes/attention.ts';
import { FEW_PROMPT_TOKENS, PROMPT_TOKENS, SEVERAL_TEXTS } from './probes/products.ts';
import { SMALL_LAYERS } from './probes/small-pass.ts';
import type { AttentionMeasures, PassMeasures, ProcessorMeasures } from './processor-probes.ts';
import { type Sample, sampleOf } from './sample.ts';

/** What the cost model needs to know of a processor, in SI units, with the sample that each value was measured from. */
export interface ProcessorFacts {
  readonly flops: ReadonlyMap<Quantization, Fact>;
  readonly promptFlops: ReadonlyMap<Quantization, Fact>;
  readonly bandwidth: Fact;
  readonly kvCopyLatency: Fact;
  readonly attention: AttentionFacts & { readonly quantized?: ReadonlyMap<QuantizedKvFormat, AttentionFacts> };
  readonly dispatch: Fact;
  readonly activationBandwidth: Fact;
  /** PassRates, if passes of several texts were measured. */
  readonly passes?: PassFacts;
}

export interface AttentionFacts {
  readonly memory: Fact;
  readonly cache: Fact;
}

export interface PassFacts {
  /** By the number of tokens. */
  readonly generated: ReadonlyMap<number, ReadonlyMap<Quantization, Fact>>;
  readonly packTokens: Fact;
  readonly unpacking: ReadonlyMap<Quantization, Fact>;
  readonly packed: ReadonlyMap<Quantization, Fact>;
  readonly dispatch: Fact;
  readonly text: Fact;
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
 * @param crossing seconds in which a few bytes go to the processor and back again and again, which passes through small
 * layers contain; 0 for a CPU
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
    attention: {
      ...attentionFacts({ memory: measures.attentionFromMemory, cache: measures.attentionFromCache }),
      ...(measures.quantizedAttention && {
        quantized: new Map([...measures.quantizedAttention].map(([format, own]) => [format, attentionFacts(own)])),
      }),
    },
    dispatch: { value: Math.max(0, measures.smallPass.median - crossing) / SMALL_LAYERS, sample: measures.smallPass },
    activationBandwidth: factOf(measures.activations),
    ...(measures.passes && { passes: passFacts(measures, measures.passes) }),
  };
}

/**
 * Facts of passes over several texts. Two lengths of prompts, both of whole packs, tell the constant part of a product
 * from that of its tokens; what a prompt of one token takes beyond the constant part is what a pack takes, and says how
 * many tokens a pack has. Kernels' packs are powers of two.
 */
function passFacts({ vectorProducts, matrixProducts }: ProcessorMeasures, passes: PassMeasures): PassFacts {
  const generated = new Map(
    [...passes.generated].map(([tokens, byFormat]) => [tokens, furtherTokens(vectorProducts, byFormat, tokens)]),
  );
  const unpacking = new Map<Quantization, Fact>();
  const packed = new Map<Quantization, Fact>();
  const packs: number[] = [];
  for (const type of vectorProducts.keys()) {
    const [short, long] = [passes.fewPrompt.get(type) as Sample, matrixProducts.get(type) as Sample];
    const added = Math.max(PROMPT_TOKENS * long.median - short.median, LEAST_SHARE * short.median);
    const token = added / (PROMPT_TOKENS - FEW_PROMPT_TOKENS);
    const constant = Math.max(short.median - FEW_PROMPT_TOKENS * token, LEAST_SHARE * short.median);
    packed.set(type, { value: 2 / token, sample: long });
    unpacking.set(type, { value: 2 / constant, sample: short });
    packs.push(((passes.onePrompt.get(type) as Sample).median - constant) / token);
  }
  const { oneText, severalTexts } = passes;
  const text = Math.max(0, severalTexts.median - oneText.median) / (SEVERAL_TEXTS - 1) / SMALL_LAYERS;
  return {
    generated,
    packTokens: { value: powerOfTwo(sampleOf(packs).median), sample: sampleOf(packs) },
    unpacking,
    packed,
    dispatch: { value: oneText.median / SMALL_LAYERS, sample: oneText },
    text: { value: text, sample: severalTexts },
  };
}

/** Rates of the tokens after the first, by format. */
function furtherTokens(
  vectorProducts: ProcessorMeasures['vectorProducts'],
  several: ReadonlyMap<Quantization, Sample>,
  tokens: number,
): ReadonlyMap<Quantization, Fact> {
  return new Map(
    [...vectorProducts].map(([type, one]): [Quantization, Fact] => {
      const sample = several.get(type) as Sample;
      const further = Math.max(sample.median - one.median, LEAST_SHARE * one.median) / (tokens - 1);
      return [type, { value: 2 / further, sample }];
    }),
  );
}

/** The nearest one, by ratio, from 1 to FEW_PROMPT_TOKENS. */
function powerOfTwo(value: number): number {
  return 2 ** Math.round(Math.log2(Math.min(FEW_PROMPT_TOKENS, Math.max(1, value))));
}

function attentionFacts({ memory, cache }: AttentionMeasures): AttentionFacts {
  return { memory: factOf(memory), cache: factOf(cache) };
}

function factOf(sample: Sample): Fact {
  return { value: sample.median, sample };
}

function bytesPerWeight(type: Quantization): number {
  const { block } = QUANTIZATIONS[type];
  return quantizedBytes(block, type) / block;
}
