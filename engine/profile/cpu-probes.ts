import type { Quantization } from '../model/quantization.ts';
import { activationRate } from './probes/activations.ts';
import { attentionFromCache, attentionFromMemory, keyValueCopy } from './probes/attention.ts';
import type { Bench } from './probes/bench.ts';
import { layerOverhead } from './probes/layer-overhead.ts';
import { matrixProducts, vectorProducts } from './probes/products.ts';
import { type Sample, sampleOf } from './sample.ts';

/** What the probes measure on `threads` threads. */
export interface CpuMeasures {
  readonly threads: number;
  /** Seconds per weight of a product with one token's vector; weights come from memory. */
  readonly vectorProducts: ReadonlyMap<Quantization, Sample>;
  /** Seconds per weight and token of a product with a prompt's vectors. */
  readonly matrixProducts: ReadonlyMap<Quantization, Sample>;
  /** Bytes of KV cache per second, from memory and from a cache. */
  readonly attentionFromMemory: Sample;
  readonly attentionFromCache: Sample;
  /** Seconds to append a token's keys and values of one layer. */
  readonly keyValueCopy: Sample;
  /** Seconds per layer and pass. */
  readonly layerOverhead: Sample;
  /** Bytes per second. */
  readonly activations: Sample;
}

/** Probes that run in turn, so that changes in the machine's speed affect all of them alike. */
export interface CpuProbes {
  /** Names of the probes, in the order of a round. */
  readonly labels: readonly string[];
  /** Runs each probe once. The first round determines the length of the runs and isn't counted. */
  readonly round: (onProbe?: (label: string) => void) => void;
  /** @throws RangeError before the second round */
  readonly measures: () => CpuMeasures;
}

interface Probe {
  readonly label: string;
  readonly measure: () => number;
  readonly values: number[];
}

/** Creates probes for products with weights of these formats, and for the work between products. */
export function createCpuProbes(bench: Bench, formats: readonly Quantization[]): CpuProbes {
  const probe = (label: string, measure: () => number): Probe => ({ label, measure, values: [] });
  const vectors = formats.map((type) => probe(`${type}, one token`, vectorProducts(bench, type)));
  const matrices = formats.map((type) => probe(`${type}, a prompt`, matrixProducts(bench, type)));
  const [fromMemory, fromCache, copy, overhead, activations] = [
    probe('attention from memory', attentionFromMemory(bench)),
    probe('attention from a cache', attentionFromCache(bench)),
    probe('KV copy', keyValueCopy(bench)),
    probe('overhead of a layer', layerOverhead(bench)),
    probe('activations', activationRate(bench)),
  ] as const;
  const all = [...vectors, ...matrices, fromMemory, fromCache, copy, overhead, activations];
  const sample = ({ values }: Probe): Sample => sampleOf(values.slice(1));
  const byFormat = (probes: readonly Probe[]): ReadonlyMap<Quantization, Sample> =>
    new Map(formats.map((type, index) => [type, sample(probes[index] as Probe)]));
  return {
    labels: all.map(({ label }) => label),
    round(onProbe) {
      for (const { label, measure, values } of all) {
        onProbe?.(label);
        values.push(measure());
      }
    },
    measures: () => ({
      threads: bench.kernels.threads,
      vectorProducts: byFormat(vectors),
      matrixProducts: byFormat(matrices),
      attentionFromMemory: sample(fromMemory),
      attentionFromCache: sample(fromCache),
      keyValueCopy: sample(copy),
      layerOverhead: sample(overhead),
      activations: sample(activations),
    }),
  };
}
