import { DEFAULT_KV_FORMAT, type KvFormat, positionBytes, storedBytes } from './kv-format.ts';
import { convolvedChannels, keptHeads, type LayerKind, recurrenceOf, stateSize } from './layer-kind.ts';
import type { Model } from './model.ts';

/**
 * State and work that layers have for a text, as the mean over a model's layers: times their number it is what all of
 * them keep, however unlike they are.
 */

type Layers = Pick<Model, 'layers' | 'hiddenSize' | 'layersByKind'>;

/** States are F32. */
export const STATE_VALUE_BYTES = 4;

/** The mean over a model's layers. Counts of whole numbers are exact, so layers that are alike give their own. */
function meanOver({ layersByKind, layers }: Layers, of: (kind: LayerKind) => number): number {
  let sum = 0;
  for (const [kind, count] of layersByKind) sum += count * of(kind);
  return sum / layers;
}

/** Positions that a layer attends to, by its window; without one they are all. */
export type SeenPositions = (window: number | undefined) => number;

/** Positions of a context that a token sees. */
export function seenPositions(context: number): SeenPositions {
  return (window = Number.POSITIVE_INFINITY) => Math.min(context, window);
}

/** The mean of that over the tokens of a prompt, as half of the whole prompt where a layer has no window. */
export function meanSeenPositions(promptTokens: number): SeenPositions {
  return (window = Number.POSITIVE_INFINITY) =>
    promptTokens <= window ? promptTokens / 2 : window - window ** 2 / (2 * promptTokens);
}

/** One position, for what grows with the positions alone. */
export const onePosition: SeenPositions = () => 1;

/** Bytes that a token adds to the KV cache. */
export function appendedBytes(model: Layers, format: KvFormat = DEFAULT_KV_FORMAT): number {
  return meanOver(model, (kind) => storedBytes(kind, format));
}

/** Bytes of a text of this many tokens: its KV cache, in layers with a window too, and the states of recurrences. */
export function keptBytes(model: Layers, tokens: number, format: KvFormat = DEFAULT_KV_FORMAT): number {
  return meanOver(model, (kind) => storedBytes(kind, format) * tokens + kindStateBytes(kind, model));
}

/** Bytes of KV cache at the positions that are seen, those of another layer included where a layer attends to them. */
export function seenBytes(model: Layers, seen: SeenPositions, format: KvFormat = DEFAULT_KV_FORMAT): number {
  return meanOver(model, (kind) => positionBytes(kind, format) * seen(keptHeads(kind)?.window));
}

/** FLOPs of a token's attention to the positions that are seen: 4 h_a d_h for each (HELM Eq. 4.11). */
export function seenFlops(model: Layers, seen: SeenPositions): number {
  return meanOver(model, (kind) => {
    const kept = keptHeads(kind);
    return kept === undefined ? 0 : 4 * kept.heads * kept.headSize * seen(kept.window);
  });
}

/** Bytes of the states of a text's recurrences. */
export function stateBytes(model: Layers): number {
  return meanOver(model, (kind) => kindStateBytes(kind, model));
}

function kindStateBytes(kind: LayerKind, { hiddenSize }: Layers): number {
  const recurrence = recurrenceOf(kind);
  if (recurrence === undefined) return 0;
  const { inputs, memory } = stateSize(recurrence, hiddenSize);
  return STATE_VALUE_BYTES * (inputs + memory);
}

/** FLOPs per token and value of a state: its change, and its products with the key and the query. */
export const FLOPS_PER_STATE_VALUE = { 'delta-net': 7, mamba: 5, 'short-convolution': 0 } as const;

/** FLOPs of a token's recurrences, whatever its position: their convolutions, and the changes of states. */
export function recurrenceFlops(model: Layers): number {
  return meanOver(model, (kind) => {
    const recurrence = recurrenceOf(kind);
    if (recurrence === undefined) return 0;
    const { memory } = stateSize(recurrence, model.hiddenSize);
    const convolution = 2 * recurrence.width * convolvedChannels(recurrence, model.hiddenSize);
    return convolution + FLOPS_PER_STATE_VALUE[recurrence.kind] * memory;
  });
}
