import { DEFAULT_KV_FORMAT, type QuantizedKvFormat } from '../model/kv-format.ts';
import type { Quantization } from '../model/quantization.ts';
import { otherEvents } from '../runtime/split/other-events.ts';
import { activationRate } from './probes/activations.ts';
import { attentionFromCache, attentionFromMemory, keyValueCopy } from './probes/attention.ts';
import type { Bench } from './probes/bench.ts';
import { pagedAttention, type QueryGroup } from './probes/paged-attention.ts';
import { FEW_PROMPT_TOKENS, GENERATED_TOKENS, productProbes } from './probes/products.ts';
import { type Depth, SEVERAL_TEXTS, smallBatch, smallPass } from './probes/small-pass.ts';
import { type Sample, sampleOf } from './sample.ts';

/** Samples that the probes measure on a processor; on a CPU with `threads` threads. */
export interface ProcessorMeasures {
  readonly threads: number;
  /** Seconds per weight of a product with one token's vector; weights come from memory. */
  readonly vectorProducts: ReadonlyMap<Quantization, Sample>;
  /** Seconds per weight and token of a product with a prompt's vectors. */
  readonly matrixProducts: ReadonlyMap<Quantization, Sample>;
  /** Seconds per weight of a product with FEW_PROMPT_TOKENS of a prompt; and, of the first format, with one. */
  readonly fewPrompt: ReadonlyMap<Quantization, Sample>;
  readonly onePrompt: Sample;
  /** Bytes of KV cache per second, from memory and from a cache. */
  readonly attentionFromMemory: Sample;
  readonly attentionFromCache: Sample;
  /** The same of quantized caches that were probed too. */
  readonly quantizedAttention?: ReadonlyMap<QuantizedKvFormat, AttentionMeasures>;
  /** Seconds to append a token's keys and values of one layer. */
  readonly keyValueCopy: Sample;
  /** Seconds of a token in models of very small layers, until its result is there. */
  readonly smallPass: ByDepth;
  /** Bytes per second. */
  readonly activations: Sample;
  /** If passes of several texts were probed too. */
  readonly passes?: PassMeasures;
}

/** By the number of layers. */
export type ByDepth = Readonly<Record<Depth, Sample>>;

/** Bytes of KV cache per second. */
export interface AttentionMeasures {
  readonly memory: Sample;
  readonly cache: Sample;
}

/** Samples of passes in which several texts are evaluated together. */
export interface PassMeasures {
  /** Seconds per weight of a product with each of GENERATED_TOKENS. */
  readonly generated: ReadonlyMap<number, ReadonlyMap<Quantization, Sample>>;
  /** Seconds of a pass of very small layers for one text, and for SEVERAL_TEXTS texts. */
  readonly oneText: ByDepth;
  readonly severalTexts: ByDepth;
  /** Seconds for each byte of KV cache in pages, for a generated token, by QUERY_GROUPS. */
  readonly attention: Readonly<Record<QueryGroup, Sample>>;
}

/** Probes that run in turn, so that changes in the machine's speed affect all of them alike. */
export interface ProcessorProbes {
  /** Names of the probes, in the order of a round. */
  readonly labels: readonly string[];
  /** Rounds that are complete, and whether none has begun since. */
  readonly rounds: number;
  readonly isComplete: boolean;
  /**
   * Runs each probe once; between them other events are handled. The first round determines the length of the runs and
   * isn't counted.
   */
  readonly round: (onProbe?: (label: string) => void) => Promise<void>;
  /** Runs the next probe of a round alone, for work that takes turns with probes. */
  readonly step: (onProbe?: (label: string) => void) => Promise<void>;
  /**
   * Measures of the rounds from one to before another; of all but the first unless given. @throws RangeError without a
   * round
   */
  readonly measures: (from?: number, to?: number) => ProcessorMeasures;
}

interface Probe {
  readonly label: string;
  readonly measure: () => Promise<number>;
  readonly values: number[];
}

/** Probes in addition to a single text with a cache in F16. */
export interface FurtherProbes {
  /** Passes of several texts, which more than double the time of a round. */
  readonly passes?: boolean;
  readonly caches?: readonly QuantizedKvFormat[];
}

/** Creates probes for products with weights of these formats, and for the work between products. */
export function createProcessorProbes(
  bench: Bench,
  formats: readonly Quantization[],
  { passes = false, caches = [] }: FurtherProbes = {},
): ProcessorProbes {
  const probe = (label: string, measure: () => Promise<number>): Probe => ({ label, measure, values: [] });
  const products = productProbes(bench);
  const vectors = formats.map((type) => probe(`${type}, one token`, products.vector(type)));
  const matrices = formats.map((type) => probe(`${type}, a prompt`, products.matrix(type)));
  const fewPrompt = formats.map((type) => probe(`${type}, a short prompt`, products.packed(type, FEW_PROMPT_TOKENS)));
  const byDepth = (
    label: string,
    measure: (depth: Depth) => () => Promise<number>,
  ): Readonly<Record<Depth, Probe>> => ({
    shallow: probe(`few ${label}`, measure('shallow')),
    deep: probe(label, measure('deep')),
  });
  const overhead = byDepth('small layers', (depth) => smallPass(bench, depth));
  const [onePrompt, fromMemory, fromCache, copy, activations] = [
    probe('a prompt of one token', products.packed(formats[0] as Quantization, 1)),
    probe('attention from memory', attentionFromMemory(bench, DEFAULT_KV_FORMAT)),
    probe('attention from a cache', attentionFromCache(bench, DEFAULT_KV_FORMAT)),
    probe('KV copy', keyValueCopy(bench)),
    probe('activations', activationRate(bench)),
  ] as const;
  const ofCaches = caches.map((format) => ({
    format,
    memory: probe(`attention from memory, ${format}`, attentionFromMemory(bench, format)),
    cache: probe(`attention from a cache, ${format}`, attentionFromCache(bench, format)),
  }));
  const ofPasses = !passes
    ? undefined
    : {
        generated: GENERATED_TOKENS.map((tokens) =>
          formats.map((type) => probe(`${type}, tokens of ${tokens} texts`, products.generated(type, tokens))),
        ),
        oneText: byDepth('small layers, one text', (depth) => smallBatch(bench, depth, 1)),
        severalTexts: byDepth('small layers, several texts', (depth) => smallBatch(bench, depth, SEVERAL_TEXTS)),
        attention: {
          few: probe('attention to pages, one query', pagedAttention(bench, 'few')),
          many: probe('attention to pages', pagedAttention(bench, 'many')),
        },
      };
  const quantized = ofCaches.flatMap(({ memory, cache }) => [memory, cache]);
  const between = [fromMemory, fromCache, ...quantized, copy, ...Object.values(overhead), activations];
  const together = ofPasses && [
    ...ofPasses.generated.flat(),
    ...Object.values(ofPasses.oneText),
    ...Object.values(ofPasses.severalTexts),
    ...Object.values(ofPasses.attention),
  ];
  const all = [...vectors, ...matrices, ...fewPrompt, onePrompt, ...between, ...(together ?? [])];
  let steps = 0;
  const step: ProcessorProbes['step'] = async (onProbe) => {
    const { label, measure, values } = all[steps % all.length] as Probe;
    onProbe?.(label);
    values.push(await measure());
    steps += 1;
    await otherEvents();
  };
  const measures: ProcessorProbes['measures'] = (from = 1, to) => {
    const sample = ({ values }: Probe): Sample => sampleOf(values.slice(from, to));
    const samples = ({ shallow, deep }: Readonly<Record<Depth, Probe>>): ByDepth => ({
      shallow: sample(shallow),
      deep: sample(deep),
    });
    const byFormat = (probes: readonly Probe[]): ReadonlyMap<Quantization, Sample> =>
      new Map(formats.map((type, index) => [type, sample(probes[index] as Probe)]));
    return {
      threads: bench.kernels.threads,
      vectorProducts: byFormat(vectors),
      matrixProducts: byFormat(matrices),
      fewPrompt: byFormat(fewPrompt),
      onePrompt: sample(onePrompt),
      attentionFromMemory: sample(fromMemory),
      attentionFromCache: sample(fromCache),
      keyValueCopy: sample(copy),
      smallPass: samples(overhead),
      activations: sample(activations),
      ...(ofCaches.length > 0 && {
        quantizedAttention: new Map(
          ofCaches.map(({ format, memory, cache }) => [format, { memory: sample(memory), cache: sample(cache) }]),
        ),
      }),
      ...(ofPasses && {
        passes: {
          generated: new Map(
            ofPasses.generated.map((own, index) => [GENERATED_TOKENS[index] as number, byFormat(own)]),
          ),
          oneText: samples(ofPasses.oneText),
          severalTexts: samples(ofPasses.severalTexts),
          attention: { few: sample(ofPasses.attention.few), many: sample(ofPasses.attention.many) },
        },
      }),
    };
  };
  return {
    labels: all.map(({ label }) => label),
    get rounds() {
      return Math.floor(steps / all.length);
    },
    get isComplete() {
      return steps % all.length === 0;
    },
    async round(onProbe) {
      for (let probe = 0; probe < all.length; probe++) await step(onProbe);
    },
    step,
    measures,
  };
}
