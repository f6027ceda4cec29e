import type { AttentionRates, ProcessorRates } from '../hardware/device.ts';
import { appendedBytes, onePosition, recurrenceFlops, seenBytes, seenFlops } from '../model/kept-bytes.ts';
import type { KvFormat } from '../model/kv-format.ts';
import type { Model } from '../model/model.ts';
import {
  attentionRates,
  embeddingRowBytes,
  type LayerSeconds,
  overheadSeconds,
  stateTraffic,
} from './layer-seconds.ts';
import { generatedProductSeconds, promptProductSeconds } from './products.ts';
import { readTogether, type Together } from './used-experts.ts';

/** Consecutive tokens of one text in a pass of several texts. */
export interface PassText {
  /** At least one. */
  readonly tokens: number;
  /** Tokens of the text before them. */
  readonly position: number;
  /** Whether they were generated; they belong to the prompt otherwise. */
  readonly isGenerated: boolean;
  /** Whether the token after them is chosen, for which the output layer runs. */
  readonly isLast: boolean;
}

/** Quantities that determine the time of a pass, summed over its texts. */
export interface PassLoad {
  readonly texts: number;
  /** Generated tokens, and those of prompts. */
  readonly generated: number;
  readonly prompt: number;
  /** Tokens that they attend to, each to those before it and to itself. */
  readonly generatedContext: number;
  readonly promptContext: number;
  /** Tokens in the KV cache of texts of which the pass has prompt tokens. */
  readonly promptCache: number;
  /** Tokens for which the output layer runs. */
  readonly chosen: number;
  /** Number format of the KV cache; F16 by default. */
  readonly kvFormat?: KvFormat | undefined;
}

export function passLoad(texts: readonly PassText[]): PassLoad {
  const load = { generated: 0, prompt: 0, generatedContext: 0, promptContext: 0, promptCache: 0, chosen: 0 };
  for (const { tokens, position, isGenerated, isLast } of texts) {
    const attended = tokens * position + (tokens * (tokens + 1)) / 2;
    load.chosen += isLast ? 1 : 0;
    if (isGenerated) {
      load.generated += tokens;
      load.generatedContext += attended;
    } else {
      load.prompt += tokens;
      load.promptContext += attended;
      load.promptCache += position + tokens;
    }
  }
  return { texts: texts.length, ...load };
}

/** All tokens of a pass, whose hidden states travel together. */
export function passTokens({ generated, prompt }: PassLoad): number {
  return generated + prompt;
}

/**
 * Seconds of one layer on one processor for a pass of the batch engine. It multiplies generated tokens and prompts' tokens
 * apart, so that weights are read once for each kind (engine/runtime/pass/layer-batches.ts); attention is text by text. With
 * `PassRates` generated tokens and texts after the first take what was measured of each. The terms are those of
 * `layerSeconds` and `prefillLayerSeconds`, which this equals for a pass of one token, or, but for the token itself in
 * attention, of one prompt, where such passes aren't known to cost more.
 */
export function passLayerSeconds(model: Model, load: PassLoad, processor: ProcessorRates): LayerSeconds {
  const { texts, generated, prompt, kvFormat } = load;
  const { bandwidth, passes, flops } = processor;
  const dispatch = passes?.dispatch ?? processor.dispatch ?? 0;
  const kinds = Math.min(1, generated) + Math.min(1, prompt);
  const products =
    generatedProductSeconds(model.layer, generated, processor) + promptProductSeconds(model.layer, prompt, processor);
  const attended = attentionSeconds(model, load, processor);
  return {
    compute: products + (recurrenceFlops(model) * passTokens(load)) / flops.F16 + attended.compute,
    kvCopy: processor.kvCopyLatency + (appendedBytes(model, kvFormat) * passTokens(load)) / bandwidth,
    memory:
      (readShare(model, generated, 'texts') + readShare(model, prompt, 'text') + stateTraffic(model, texts)) /
        bandwidth +
      attended.memory,
    overhead:
      overheadSeconds(model, passTokens(load), { ...processor, dispatch }) +
      (kinds - 1) * dispatch +
      (texts - 1) * (passes?.text ?? 0),
  };
}

/** Bytes of a layer that tokens of one kind read; a part of a token reads that part of what one token does. */
function readShare({ layer }: Model, tokens: number, together: Together): number {
  return Math.min(1, tokens) * readTogether(layer, Math.max(1, tokens), together);
}

/**
 * Seconds of attention, as if no layer had a window. With `PassRates.attention`, which was measured in F16, the ratio of a
 * format to F16 is that of the processor's `attention`.
 */
function attentionSeconds(
  model: Model,
  { generatedContext, promptContext, promptCache, kvFormat }: PassLoad,
  { attention, passes, bandwidth, flops }: ProcessorRates,
): Pick<LayerSeconds, 'compute' | 'memory'> {
  const token = seenBytes(model, onePosition, kvFormat);
  const attendedFlops = (attended: number): number => seenFlops(model, onePosition) * attended;
  if (attention === undefined)
    return {
      compute: attendedFlops(generatedContext + promptContext) / flops.F16,
      memory: (token * (generatedContext + promptCache)) / bandwidth,
    };
  const rates = attentionRates(attention, kvFormat);
  const paged = passes?.attention;
  if (paged === undefined)
    return { compute: 0, memory: token * (generatedContext / rates.memory + promptContext / rates.cache) };
  const inF16 = seenBytes(model, onePosition);
  const ratio = (place: keyof AttentionRates): number => (token / rates[place]) * (attention[place] / inF16);
  return {
    compute:
      (ratio('memory') * attendedFlops(generatedContext)) / paged.flops +
      (ratio('cache') * attendedFlops(promptContext)) / paged.promptFlops,
    memory: (ratio('memory') * inF16 * generatedContext) / paged.memory,
  };
}

/**
 * Seconds of the output layer for the tokens of a pass after which one is chosen, of looking up all its tokens, and of
 * starting the pass.
 */
export function passOutputSeconds(model: Model, load: PassLoad, processor: ProcessorRates): LayerSeconds {
  const { chosen, texts } = load;
  const { start = processor.start ?? 0, textStart = 0 } = processor.passes ?? {};
  const weights = chosen === 0 ? 0 : model.output.bytes;
  return {
    compute: generatedProductSeconds(model.output, chosen, processor),
    kvCopy: 0,
    memory: (embeddingRowBytes(model) * passTokens(load) + weights) / processor.bandwidth,
    overhead: start + (texts - 1) * textStart,
  };
}
