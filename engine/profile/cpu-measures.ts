import type { Quantization } from '../model/quantization.ts';
import type { Sample } from './sample.ts';

/** What probes of a processor's kernels find, with so many threads. */
export interface CpuMeasures {
  readonly threads: number;
  /** Seconds per weight of a product with one token's vector, weights from memory. */
  readonly vectorProducts: ReadonlyMap<Quantization, Sample>;
  /** Seconds per weight and token of a product with those of a prompt. */
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
