import { DEFAULT_KV_FORMAT, type QuantizedKvFormat } from '../model/kv-format.ts';
import type { Quantization } from '../model/quantization.ts';
import { activationRate } from './probes/activations.ts';
import { attentionFromCache, attentionFromMemory, keyValueCopy } from './probes/attention.ts';
import type { Bench } from './probes/bench.ts';
import {
  FEW_PROMPT_TOKENS,
  GENERATED_TOKENS,
  generatedProducts,
  matrixProducts,
  packedProducts,
  SEVERAL_TEXTS,
  vectorProducts,
} from './probes/products.ts';
import { smallBatch, smallPass } from './probes/small-pass.ts';
import { type Sample, sampleOf } from './sample.ts';

/** What the probes measure on a processor; on a CPU with `threads` threads. */
export interface ProcessorMeasures {
  readonly threads: number;
  /** Seconds per weight of a product with one token's vector; weights come from memory. */
  readonly vectorProducts: ReadonlyMap<Quantization, Sample>;
  /** Seconds per weight and token of a product with a prompt's vectors. */
  readonly matrixProducts: ReadonlyMap<Quantization, Sample>;
  /** Bytes of KV cache per second, from memory and from a cache. */
  readonly attentionFromMemory: Sample;
  readonly attentionFromCache: Sample;
  /** The same of quantized caches that were probed too. */
  readonly quantizedAttention?: ReadonlyMap<QuantizedKvFormat, AttentionMeasures>;
  /** Seconds to append a token's keys and values of one layer. */
  readonly keyValueCopy: Sample;
  /** Seconds of a token in a model of SMALL_LAYERS very small layers, until its result is there. */
  readonly smallPass: Sample;
  /** Bytes per second. */
  readonly activations: Sample;
  /** If passes of several texts were probed too. */
  readonly passes?: PassMeasures;
}

/** Bytes of KV cache per second. */
export interface AttentionMeasures {
  readonly memory: Sample;
  readonly cache: Sample;
}

/** What the probes measure of passes in which several texts are evaluated together. */
export interface PassMeasures {
  /** Seconds per weight of a product with each of GENERATED_TOKENS. */
  readonly generated: ReadonlyMap<number, ReadonlyMap<Quantization, Sample>>;
  /** Seconds per weight of a product with one token of a prompt, and with FEW_PROMPT_TOKENS. */
  readonly onePrompt: ReadonlyMap<Quantization, Sample>;
  readonly fewPrompt: ReadonlyMap<Quantization, Sample>;
  /** Seconds of a pass of very small layers for one text, and for SEVERAL_TEXTS texts. */
  readonly oneText: Sample;
  readonly severalTexts: Sample;
}

/** Probes that run in turn, so that changes in the machine's speed affect all of them alike. */
export interface ProcessorProbes {
  /** Names of the probes, in the order of a round. */
  readonly labels: readonly string[];
  /** Runs each probe once. The first round determines the length of the runs and isn't counted. */
  readonly round: (onProbe?: (label: string) => void) => Promise<void>;
  /** @throws RangeError before the second round */
  readonly measures: () => ProcessorMeasures;
}

interface Probe {
  readonly label: string;
  readonly measure: () => Promise<number>;
  readonly values: number[];
}

/** What is probed besides a single text with a cache in F16. */
export interface FurtherProbes {
  /** Passes of several texts, which double the time of a round. */
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
  const vectors = formats.map((type) => probe(`${type}, one token`, vectorProducts(bench, type)));
  const matrices = formats.map((type) => probe(`${type}, a prompt`, matrixProducts(bench, type)));
  const [fromMemory, fromCache, copy, overhead, activations] = [
    probe('attention from memory', attentionFromMemory(bench, DEFAULT_KV_FORMAT)),
    probe('attention from a cache', attentionFromCache(bench, DEFAULT_KV_FORMAT)),
    probe('KV copy', keyValueCopy(bench)),
    probe('small layers', smallPass(bench)),
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
          formats.map((type) => probe(`${type}, tokens of ${tokens} texts`, generatedProducts(bench, type, tokens))),
        ),
        onePrompt: formats.map((type) => probe(`${type}, a prompt of one token`, packedProducts(bench, type, 1))),
        fewPrompt: formats.map((type) =>
          probe(`${type}, a short prompt`, packedProducts(bench, type, FEW_PROMPT_TOKENS)),
        ),
        oneText: probe('small layers, one text', smallBatch(bench, 1)),
        severalTexts: probe('small layers, several texts', smallBatch(bench, SEVERAL_TEXTS)),
      };
  const quantized = ofCaches.flatMap(({ memory, cache }) => [memory, cache]);
  const alone = [...vectors, ...matrices, fromMemory, fromCache, ...quantized, copy, overhead, activations];
  const all = [...alone, ...(ofPasses === undefined ? [] : Object.values(ofPasses).flat(2))];
  const sample = ({ values }: Probe): Sample => sampleOf(values.slice(1));
  const byFormat = (probes: readonly Probe[]): ReadonlyMap<Quantization, Sample> =>
    new Map(formats.map((type, index) => [type, sample(probes[index] as Probe)]));
  return {
    labels: all.map(({ label }) => label),
    async round(onProbe) {
      for (const { label, measure, values } of all) {
        onProbe?.(label);
        values.push(await measure());
      }
    },
    measures: () => ({
      threads: bench.kernels.threads,
      vectorProducts: byFormat(vectors),
      matrixProducts: byFormat(matrices),
      attentionFromMemory: sample(fromMemory),
      attentionFromCache: sample(fromCache),
      keyValueCopy: sample(copy),
      smallPass: sample(overhead),
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
          onePrompt: byFormat(ofPasses.onePrompt),
          fewPrompt: byFormat(ofPasses.fewPrompt),
          oneText: sample(ofPasses.oneText),
          severalTexts: sample(ofPasses.severalTexts),
        },
      }),
    }),
  };
}
