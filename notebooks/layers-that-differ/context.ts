import { keptBytes, type SeenPositions, seenBytes, seenPositions, stateBytes } from '../../engine/model/kept-bytes.ts';
import type { LayerKind } from '../../engine/model/layer-kind.ts';
import { type Model, readBytes } from '../../engine/model/model.ts';

/** How a layer treats earlier tokens. */
export const WAYS = [
  'reads all tokens',
  'reads a window',
  'reads one narrow row of each',
  'has a state',
  'keeps nothing',
] as const;
export type Way = (typeof WAYS)[number];

/** A layer at a context. */
export interface LayerCost {
  /** From 1. */
  readonly layer: number;
  readonly way: Way;
  /** Bytes of earlier tokens that one more token reads. */
  readonly read: number;
}

/** The cost of earlier tokens for one more token, in bytes. */
export interface ContextCost {
  readonly layers: readonly LayerCost[];
  /** Read by all layers: keys and values that are seen, and states. */
  readonly read: number;
  /** In memory, those out of a window's sight among it. */
  readonly kept: number;
  /** Weights that the token reads, of a mixture those of the experts that it uses. */
  readonly weights: number;
}

/** Models whose layers treat earlier tokens in different ways. */
export const MODELS = [
  'Llama-3.1-70B',
  'Gemma-3-27B',
  'gpt-oss-120b',
  'DeepSeek-V3',
  'Qwen3-Next-80B-A3B',
  'Granite-4.0-H-Small',
] as const;

/** The cost of a context of this many tokens for each further one. */
export function contextCost(model: Model, tokens: number): ContextCost {
  const layers = model.kinds.map((kind, index) => ({
    layer: index + 1,
    way: wayOf(kind),
    read: layerBytes(model, kind, seenPositions(tokens)),
  }));
  return {
    layers,
    read: layers.reduce((sum, { read }) => sum + read, 0),
    kept: model.layers * keptBytes(model, tokens),
    weights: model.layers * readBytes(model.layer, 1) + readBytes(model.output, 1),
  };
}

/** Bytes that a token would read if every layer with keys attended to the whole context. */
export function withoutWindows(model: Model, tokens: number): number {
  return model.layers * (seenBytes(model, () => tokens) + stateBytes(model));
}

/** Bytes of earlier tokens that a layer of a kind reads: the model's mean, were all of its layers of that kind. */
function layerBytes({ hiddenSize }: Model, kind: LayerKind, seen: SeenPositions): number {
  const alone = { layers: 1, hiddenSize, layersByKind: new Map([[kind, 1]]) };
  return seenBytes(alone, seen) + stateBytes(alone);
}

function wayOf({ mixer }: LayerKind): Way {
  if (mixer === undefined) return 'keeps nothing';
  if (mixer.kind === 'attention') return mixer.window === undefined ? 'reads all tokens' : 'reads a window';
  return mixer.kind === 'latent-attention' ? 'reads one narrow row of each' : 'has a state';
}
