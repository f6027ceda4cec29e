import type { FlopRates, GeneratedRates, ProcessorRates } from '../hardware/device.ts';
import { type KvFormat, kvBytesPerToken } from '../model/kv-format.ts';
import type { Model, WeightGroup } from '../model/model.ts';
import {
  attendedFlops,
  attentionRates,
  embeddingRowBytes,
  type LayerSeconds,
  multiplySeconds,
  overheadSeconds,
  packedSeconds,
} from './layer-seconds.ts';

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

/** What the time of a pass depends on, summed over its texts. */
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
 * apart, so that weights are read once for each kind (engine/runtime/layer-batches.ts); attention is text by text. With
 * `PassRates` generated tokens after the first, packs of prompts' tokens and texts after the first take what was measured
 * of each; without, all tokens after the first of a kind take those of a prompt. The terms are those of `layerSeconds`
 * and `prefillLayerSeconds`, which this equals for a pass of one token, or, but for the token itself in attention, of one
 * prompt.
 */
export function passLayerSeconds(model: Model, load: PassLoad, processor: ProcessorRates): LayerSeconds {
  const { texts, generated, prompt, generatedContext, promptContext, promptCache, kvFormat } = load;
  const { bandwidth, attention, passes } = processor;
  const dispatch = passes?.dispatch ?? processor.dispatch ?? 0;
  const token = kvBytesPerToken(model, kvFormat);
  const rates = attention && attentionRates(attention, kvFormat);
  const packed = prompt === 0 || passes === undefined ? undefined : packedSeconds(model.layer, prompt, passes);
  const kinds = Math.min(1, generated) + Math.min(1, prompt);
  const reads = packed === undefined ? kinds : Math.min(1, generated);
  const products =
    generatedSeconds(model.layer, generated, processor) + (packed ?? promptProducts(model.layer, load, processor));
  const attended = attendedFlops(model, generatedContext + promptContext) / processor.flops.F16;
  const kvSeconds =
    rates === undefined
      ? (token * (generatedContext + promptCache)) / bandwidth
      : token * (generatedContext / rates.memory + promptContext / rates.cache);
  return {
    compute: attention === undefined ? products + attended : products,
    kvCopy: processor.kvCopyLatency + (token * passTokens(load)) / bandwidth,
    memory: (reads * model.layer.bytes) / bandwidth + kvSeconds,
    overhead:
      overheadSeconds(model, passTokens(load), { ...processor, dispatch }) +
      (kinds - 1) * dispatch +
      (texts - 1) * (passes?.text ?? 0),
  };
}

/** Seconds of the output layer for the tokens of a pass after which one is chosen, and of looking up all its tokens. */
export function passOutputSeconds(model: Model, load: PassLoad, processor: ProcessorRates): LayerSeconds {
  const { chosen } = load;
  const weights = chosen === 0 ? 0 : model.output.bytes;
  return {
    compute: generatedSeconds(model.output, chosen, processor),
    kvCopy: 0,
    memory: (embeddingRowBytes(model) * passTokens(load) + weights) / processor.bandwidth,
    overhead: 0,
  };
}

/**
 * Products of tokens that are multiplied one by one while the weights are in a cache. Between the measured numbers of
 * tokens seconds grow in a line, beyond the last at its rate.
 */
function generatedSeconds(group: WeightGroup, tokens: number, processor: ProcessorRates): number {
  const { flops, promptFlops = flops, passes } = processor;
  if (passes === undefined || tokens <= 1) return severalSeconds(group, tokens, { first: flops, others: promptFlops });
  const at = (rates: GeneratedRates, count: number): number =>
    severalSeconds(group, count, { first: flops, others: rates.flops });
  const above = passes.generated.find((rates) => rates.tokens >= tokens);
  const below = passes.generated.findLast((rates) => rates.tokens < tokens);
  if (above === undefined) return at(below as GeneratedRates, tokens);
  const low = below === undefined ? 1 : below.tokens;
  const lowSeconds = below === undefined ? severalSeconds(group, 1, { first: flops, others: flops }) : at(below, low);
  const share = (tokens - low) / (above.tokens - low);
  return lowSeconds + share * (at(above, above.tokens) - lowSeconds);
}

function promptProducts(
  group: WeightGroup,
  { prompt }: PassLoad,
  { flops, promptFlops = flops }: ProcessorRates,
): number {
  return severalSeconds(group, prompt, { first: flops, others: promptFlops });
}

function severalSeconds(
  group: WeightGroup,
  tokens: number,
  { first, others }: { readonly first: FlopRates; readonly others: FlopRates },
): number {
  if (tokens === 0) return 0;
  return (
    multiplySeconds(group, { batch: 1 }, { flops: first }) +
    multiplySeconds(group, { batch: tokens - 1 }, { flops: others })
  );
}
