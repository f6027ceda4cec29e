import type { ProcessorRates } from '../hardware/device.ts';
import { kvBytesPerToken, type Model, type WeightGroup } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';

/** Seconds that one processor spends on one layer for one token of every request, by cause. */
export interface LayerSeconds {
  /** Σ_q f^q / s^q, attention included (prima.cpp Eq. 12). */
  readonly compute: number;
  /** t^kv_cpy: appending keys and values (Eq. 13). */
  readonly kvCopy: number;
  /** b′ / T: reading weights and KV cache (Eq. 14). */
  readonly memory: number;
}

/** Bytes of the KV cache of one layer: 2 (h_k e_k + h_v e_v) n_kv for every request. */
export function kvCacheBytes(model: Model, workload: Workload): number {
  return kvBytesPerToken(model) * workload.context * workload.batch;
}

/** FLOPs of attention in one layer: 4 B h_a c d_h (HELM Eq. 4.11). */
export function attentionFlops(model: Model, { batch, context }: Workload): number {
  return 4 * batch * model.heads * context * model.headSize;
}

/** One layer on one processor (prima.cpp Eqs. 12–14; α is the sum on the CPU, α + β on the GPU). */
export function layerSeconds(model: Model, workload: Workload, processor: ProcessorRates): LayerSeconds {
  const appended = kvBytesPerToken(model) * workload.batch;
  const attention = attentionFlops(model, workload) / processor.flops.F16;
  return {
    compute: multiplySeconds(model.layer, workload, processor) + attention,
    kvCopy: processor.kvCopyLatency + appended / processor.bandwidth,
    memory: (model.layer.bytes + kvCacheBytes(model, workload)) / processor.bandwidth,
  };
}

/** The output layer and the looked-up row of the embedding on one processor (prima.cpp Eqs. 12 and 14, terms of m = 1). */
export function outputSeconds(model: Model, workload: Workload, processor: ProcessorRates): LayerSeconds {
  return {
    compute: multiplySeconds(model.output, workload, processor),
    kvCopy: 0,
    memory: (embeddingRowBytes(model) * workload.batch + model.output.bytes) / processor.bandwidth,
  };
}

/** b_i / V: the row of the embedding matrix that a token looks up. */
export function embeddingRowBytes(model: Model): number {
  return model.embedding.bytes / model.vocabularySize;
}

/** Σ_q f^q / s^q for every request of the batch. */
export function multiplySeconds(
  group: WeightGroup,
  { batch }: Workload,
  processor: Pick<ProcessorRates, 'flops'>,
): number {
  let seconds = 0;
  for (const [quantization, flops] of group.flops) seconds += (batch * flops) / processor.flops[quantization];
  return seconds;
}

/**
 * One layer on one processor for all tokens of a prompt at once: every weight is read once, everything else grows with
 * the tokens; attention of token i meets the i tokens before it, half the square in all.
 */
export function prefillLayerSeconds(model: Model, workload: Workload, processor: ProcessorRates): LayerSeconds {
  const tokens = workload.promptTokens * workload.batch;
  const keysAndValues = kvBytesPerToken(model) * tokens;
  const attention = attentionFlops(model, { ...workload, batch: tokens, context: workload.promptTokens / 2 });
  return {
    compute: multiplySeconds(model.layer, { ...workload, batch: tokens }, processor) + attention / processor.flops.F16,
    kvCopy: processor.kvCopyLatency + keysAndValues / processor.bandwidth,
    memory: (model.layer.bytes + keysAndValues) / processor.bandwidth,
  };
}
