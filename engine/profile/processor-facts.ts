import type { QuantizedKvFormat } from '../model/kv-format.ts';
import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../model/quantization.ts';
import { COPIED_BYTES, FLOPS_PER_BYTE } from './probes/attention.ts';
import { FLOPS_PER_QUERY, QUERY_GROUPS } from './probes/paged-attention.ts';
import { FEW_PROMPT_TOKENS, PROMPT_TOKENS } from './probes/products.ts';
import { DEPTHS, SEVERAL_TEXTS } from './probes/small-pass.ts';
import type { AttentionMeasures, ByDepth, PassMeasures, ProcessorMeasures } from './processor-probes.ts';
import type { Sample } from './sample.ts';

/** Facts about a processor for the cost model, in SI units, with the sample that each value was measured from. */
export interface ProcessorFacts {
  readonly flops: ReadonlyMap<Quantization, Fact>;
  readonly promptFlops: ReadonlyMap<Quantization, Fact>;
  readonly prompts: PromptFacts;
  readonly bandwidth: Fact;
  readonly kvCopyLatency: Fact;
  readonly attention: AttentionFacts & { readonly quantized?: ReadonlyMap<QuantizedKvFormat, AttentionFacts> };
  readonly start: Fact;
  readonly dispatch: Fact;
  readonly activationBandwidth: Fact;
  /** PassRates, if passes of several texts were measured. */
  readonly passes?: PassFacts;
}

export interface AttentionFacts {
  readonly memory: Fact;
  readonly cache: Fact;
}

export interface PromptFacts {
  readonly packTokens: Fact;
  readonly unpacking: ReadonlyMap<Quantization, Fact>;
  readonly packed: ReadonlyMap<Quantization, Fact>;
}

export interface PassFacts {
  /** By the number of tokens. */
  readonly generated: ReadonlyMap<number, ReadonlyMap<Quantization, Fact>>;
  readonly start: Fact;
  readonly dispatch: Fact;
  readonly textStart: Fact;
  readonly text: Fact;
  readonly attention: PagedAttentionFacts;
}

export interface PagedAttentionFacts {
  readonly memory: Fact;
  readonly flops: Fact;
  readonly promptFlops: Fact;
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
 * reproduces the measurement. Of the products of prompts, `promptFlops` charges the first token like a single one, and
 * the others with the rest of a long prompt's time; `prompts` knows short ones as well.
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
  const { start, layer } = passParts(measures.smallPass, crossing);
  return {
    flops,
    promptFlops,
    prompts: promptFacts(measures, bandwidth),
    bandwidth: fastest,
    kvCopyLatency: { value: Math.max(0, copy.median - COPIED_BYTES / bandwidth), sample: copy },
    attention: {
      ...attentionFacts({ memory: measures.attentionFromMemory, cache: measures.attentionFromCache }),
      ...(measures.quantizedAttention && {
        quantized: new Map([...measures.quantizedAttention].map(([format, own]) => [format, attentionFacts(own)])),
      }),
    },
    start,
    dispatch: layer,
    activationBandwidth: factOf(measures.activations),
    ...(measures.passes && { passes: passFacts(measures, measures.passes, crossing) }),
  };
}

/**
 * Facts of products with the tokens of prompts. Two lengths, both of whole packs, tell the constant part of a product from
 * that of its tokens; what a prompt of one token takes beyond the constant part is what a pack takes, and says how many
 * tokens a pack has. Kernels' packs are powers of two.
 */
function promptFacts({ matrixProducts, fewPrompt, onePrompt }: ProcessorMeasures, bandwidth: number): PromptFacts {
  const unpacking = new Map<Quantization, Fact>();
  const packed = new Map<Quantization, Fact>();
  const packs: number[] = [];
  for (const [type, short] of fewPrompt) {
    const long = matrixProducts.get(type) as Sample;
    const added = Math.max(PROMPT_TOKENS * long.median - short.median, LEAST_SHARE * short.median);
    const token = added / (PROMPT_TOKENS - FEW_PROMPT_TOKENS);
    const constant = Math.max(0, short.median - FEW_PROMPT_TOKENS * token);
    const reading = bytesPerWeight(type) / bandwidth;
    packed.set(type, { value: 2 / token, sample: long });
    unpacking.set(type, { value: 2 / Math.max(constant - reading, LEAST_SHARE * reading), sample: short });
    packs.push((onePrompt.median - constant) / token);
  }
  return { packTokens: { value: powerOfTwo(packs[0] ?? 1), sample: onePrompt }, unpacking, packed };
}

/** Times of a pass apart from its layers, and of a layer; both without products. */
function passParts({ shallow, deep }: ByDepth, crossing: number): { readonly start: Fact; readonly layer: Fact } {
  const layer = Math.max(0, deep.median - shallow.median) / (DEPTHS.deep - DEPTHS.shallow);
  const start = Math.max(0, shallow.median - DEPTHS.shallow * layer - crossing);
  return { start: { value: start, sample: shallow }, layer: { value: layer, sample: deep } };
}

/** Facts of passes over several texts. */
function passFacts(measures: ProcessorMeasures, passes: PassMeasures, crossing: number): PassFacts {
  const { vectorProducts, attentionFromCache } = measures;
  const generated = new Map(
    [...passes.generated].map(([tokens, byFormat]) => [tokens, furtherTokens(vectorProducts, byFormat, tokens)]),
  );
  const [one, several] = [passParts(passes.oneText, crossing), passParts(passes.severalTexts, crossing)];
  const each = (part: 'start' | 'layer'): Fact => ({
    value: Math.max(0, several[part].value - one[part].value) / (SEVERAL_TEXTS - 1),
    sample: several[part].sample,
  });
  const attention = pagedAttentionFacts(passes.attention, attentionFromCache);
  return { generated, start: one.start, dispatch: one.layer, textStart: each('start'), text: each('layer'), attention };
}

/** Seconds for each byte grow in a line with the queries that share it: what is read, and what each computes. */
function pagedAttentionFacts({ few, many }: PassMeasures['attention'], prompts: Sample): PagedAttentionFacts {
  const flops = (QUERY_GROUPS.many - QUERY_GROUPS.few) * FLOPS_PER_QUERY;
  const computing = Math.max(many.median - few.median, LEAST_SHARE * many.median) / flops;
  const reading = few.median - QUERY_GROUPS.few * FLOPS_PER_QUERY * computing;
  return {
    memory: { value: 1 / Math.max(reading, LEAST_SHARE * few.median), sample: few },
    flops: { value: 1 / computing, sample: many },
    promptFlops: { value: FLOPS_PER_BYTE * prompts.median, sample: prompts },
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
