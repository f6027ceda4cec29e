import type { AttentionRates, ProcessorRates } from '../hardware/device.ts';
import type { LayerWidths } from '../model/architecture.ts';
import {
  appendedBytes,
  keptBytes,
  meanSeenPositions,
  onePosition,
  recurrenceFlops,
  seenBytes,
  seenFlops,
  seenPositions,
  stateBytes,
} from '../model/kept-bytes.ts';
import { DEFAULT_KV_FORMAT, isFloatKv, type KvFormat, valueBytes } from '../model/kv-format.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import { generatedProductSeconds, promptProductSeconds } from './products.ts';
import { readTogether } from './used-experts.ts';

/** Seconds that one processor spends on one layer for one token of every request, by cause. */
export interface LayerSeconds {
  /** Σ_q f^q / s^q, attention included (prima.cpp Eq. 12). */
  readonly compute: number;
  /** t^kv_cpy: appending keys and values (Eq. 13). */
  readonly kvCopy: number;
  /** b′ / T: reading weights and KV cache (Eq. 14). */
  readonly memory: number;
  /** Dispatch and elementwise operations, which the papers omit. */
  readonly overhead: number;
}

/** The sum of all causes: nothing overlaps. */
export function totalLayerSeconds({ compute, kvCopy, memory, overhead }: LayerSeconds): number {
  return compute + kvCopy + memory + overhead;
}

/**
 * Bytes of memory that one layer's KV cache, or state, takes: room for the reserved context, however much of it is in use.
 */
export function reservedKvBytes(model: Model, workload: Workload): number {
  const { context, reservedContext = context } = workload;
  return keptBytes(model, Math.max(context, reservedContext), workload.kvFormat) * workload.batch;
}

/**
 * Bytes of the KV cache of one layer that are read for a token: 2 (h_k e_k + h_v e_v) n_kv for every request; fewer
 * positions in layers with a window.
 */
export function kvCacheBytes(model: Model, workload: Workload): number {
  return seenBytes(model, seenPositions(workload.context), workload.kvFormat) * workload.batch;
}

/** Bytes of the states of one layer's recurrences that are read and written for a token, or a prompt, of this many texts. */
export function stateTraffic(model: Model, texts: number): number {
  return 2 * stateBytes(model) * texts;
}

/**
 * Bytes of a cache in this format that attention processes per second. Where only F16 was measured, a position of a
 * quantized cache takes as long, since attention is limited by arithmetic.
 */
export function attentionRates(
  measured: NonNullable<ProcessorRates['attention']>,
  format: KvFormat = DEFAULT_KV_FORMAT,
): AttentionRates {
  if (isFloatKv(format)) return measured;
  const own = measured.quantized?.[format];
  if (own !== undefined) return own;
  const share = valueBytes(format) / valueBytes(DEFAULT_KV_FORMAT);
  return { memory: share * measured.memory, cache: share * measured.cache };
}

/** FLOPs of attention in one layer: 4 B h_a c d_h (HELM Eq. 4.11). */
export function attentionFlops(model: Model, { batch, context }: Workload): number {
  return seenFlops(model, seenPositions(context)) * batch;
}

/**
 * Seconds of one layer on one processor for one token of every request (prima.cpp Eqs. 12–14; their sum is α on the CPU
 * and α + β on the GPU).
 */
export function layerSeconds(model: Model, workload: Workload, processor: ProcessorRates): LayerSeconds {
  const appended = appendedBytes(model, workload.kvFormat) * workload.batch;
  const multiply =
    generatedProductSeconds(model.layer, workload.batch, processor) +
    (recurrenceFlops(model) * workload.batch) / processor.flops.F16;
  const kvBytes = kvCacheBytes(model, workload);
  const otherBytes = readTogether(model.layer, workload.batch, 'texts') + stateTraffic(model, workload.batch);
  const { bandwidth, attention } = processor;
  return {
    compute: attention === undefined ? multiply + attentionFlops(model, workload) / processor.flops.F16 : multiply,
    kvCopy: processor.kvCopyLatency + appended / bandwidth,
    memory:
      attention === undefined
        ? (otherBytes + kvBytes) / bandwidth
        : otherBytes / bandwidth + kvBytes / attentionRates(attention, workload.kvFormat).memory,
    overhead: overheadSeconds(model, workload.batch, processor),
  };
}

/**
 * Seconds of dispatching a layer's work and of its elementwise operations on `tokens` tokens; 0 for a device that
 * states neither.
 */
export function overheadSeconds(
  model: Model,
  tokens: number,
  { dispatch = 0, activationBandwidth }: ProcessorRates,
): number {
  if (activationBandwidth === undefined) return dispatch;
  return dispatch + (tokens * activationValueBytes(model.mean)) / activationBandwidth;
}

/**
 * Bytes that a layer's elementwise operations write for a token, as F32: two norms of the residual stream (e values
 * each), rotated queries and keys, and the gated inner values of the feed-forward network.
 */
export function activationValueBytes({ hiddenSize, heads, kvHeads, headSize, ffnSize }: LayerWidths): number {
  return 4 * (2 * hiddenSize + (heads + kvHeads) * headSize + ffnSize);
}

/**
 * Seconds of the output layer and of looking up a row of the embedding on one processor (prima.cpp Eqs. 12 and 14, the
 * terms of the head, m = 1), and of starting the pass.
 */
export function outputSeconds(model: Model, workload: Workload, processor: ProcessorRates): LayerSeconds {
  return {
    compute: generatedProductSeconds(model.output, workload.batch, processor),
    kvCopy: 0,
    memory: (embeddingRowBytes(model) * workload.batch + model.output.bytes) / processor.bandwidth,
    overhead: processor.start ?? 0,
  };
}

/** b_i / V: bytes of the row of the embedding matrix that a token looks up. */
export function embeddingRowBytes(model: Model): number {
  return model.embedding.bytes / model.vocabularySize;
}

/**
 * Seconds of one layer on one processor for all tokens of a prompt at once. Every weight is read once; everything else
 * grows with the number of tokens. Token i attends to the i tokens before it, so attention costs half of the square of
 * the length. The state of a recurrence is read and written once: what a head has of it stays in a processor's cache.
 */
export function prefillLayerSeconds(model: Model, workload: Workload, processor: ProcessorRates): LayerSeconds {
  const tokens = workload.promptTokens * workload.batch;
  const appended = appendedBytes(model, workload.kvFormat) * tokens;
  const cached = seenBytes(model, onePosition, workload.kvFormat) * tokens;
  return {
    compute:
      promptProductSeconds(model.layer, tokens, processor) +
      (recurrenceFlops(model) * tokens) / processor.flops.F16 +
      prefillAttentionSeconds(model, { ...workload, batch: tokens }, processor),
    kvCopy: processor.kvCopyLatency + appended / processor.bandwidth,
    memory:
      (readTogether(model.layer, tokens, 'text') + stateTraffic(model, workload.batch) + cached) / processor.bandwidth,
    overhead: overheadSeconds(model, tokens, processor),
  };
}

/** @param workload its batch is the number of tokens of all prompts */
function prefillAttentionSeconds(model: Model, workload: Workload, { attention, flops }: ProcessorRates): number {
  const { batch, promptTokens, kvFormat } = workload;
  const seen = meanSeenPositions(promptTokens);
  return attention === undefined
    ? (batch * seenFlops(model, seen)) / flops.F16
    : (batch * seenBytes(model, seen, kvFormat)) / attentionRates(attention, kvFormat).cache;
}
