import { describe } from './block/describe.ts';
import type { LayerWeight } from './block/layer-weight.ts';
import { activeSize, keptHeads, type LayerKind } from './layer-kind.ts';

/** The families whose layers are alike, and which a few numbers describe. */
export const UNIFORM_ARCHITECTURES = ['llama', 'qwen2', 'qwen3', 'internlm2'] as const;
export type UniformArchitecture = (typeof UNIFORM_ARCHITECTURES)[number];

/** A model's sizes and kinds of layers, which determine every tensor's shape and every operation. */
export interface Shape {
  readonly name: string;
  /** The family, by the name that GGUF files have for it. */
  readonly architecture: string;
  /** L: transformer layers (blocks). */
  readonly layers: number;
  /** The kind of each of them, in order. */
  readonly kinds: readonly LayerKind[];
  /** e (prima.cpp), H (HELM): width of the residual stream. */
  readonly hiddenSize: number;
  /** V: entries of the vocabulary. */
  readonly vocabularySize: number;
  /** The output matrix is the embedding matrix. */
  readonly tiedEmbeddings: boolean;
  /** Tokens of the longest text that the model was trained on; missing where unknown. */
  readonly trainedContext?: number;
  /** Factor of the embeddings; missing: 1. */
  readonly embeddingScale?: number;
  /** Factor of the logits; missing: 1. */
  readonly logitScale?: number;
  /** c of the logits c · tanh(z / c); missing: logits as they are. */
  readonly logitCap?: number;
  /** P: width of the embedding that each layer has of a token for itself; missing: none (Gemma 3n and 4). */
  readonly layerInputs?: number;
}

/** The numbers that describe a model whose layers are alike. */
export interface UniformShape extends Omit<Shape, 'kinds' | 'architecture'> {
  readonly architecture: UniformArchitecture;
  /** I: inner width of the feed-forward part. */
  readonly ffnSize: number;
  /** h_a: query heads. */
  readonly heads: number;
  /** h_k = h_v (prima.cpp), h_kv (HELM): key and value heads. */
  readonly kvHeads: number;
  /** e_k = e_v (prima.cpp), d_h (HELM): width of a head. */
  readonly headSize: number;
  readonly qkvBias: boolean;
}

/** The shape that the numbers describe. */
export function uniformShape({ ffnSize, heads, kvHeads, headSize, qkvBias, ...shared }: UniformShape): Shape {
  const kind: LayerKind = {
    mixer: {
      ...{ kind: 'attention', heads, kvHeads, headSize, bias: qkvBias, rotation: 'global' },
      ...(shared.architecture === 'qwen3' && { norms: 'heads' as const }),
    },
    feedForward: { kind: 'dense', size: ffnSize, activation: 'silu' },
    resultNorms: false,
  };
  return { ...shared, kinds: new Array<LayerKind>(shared.layers).fill(kind) };
}

/**
 * The widths of a layer, or their means over unlike layers, which the papers' formulas take for all layers: of head sizes
 * over those that attend, of numbers of heads over all.
 */
export interface LayerWidths {
  readonly hiddenSize: number;
  readonly ffnSize: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
}

export function meanWidths({ kinds, hiddenSize }: Pick<Shape, 'kinds' | 'hiddenSize'>): LayerWidths {
  const mean = (width: (kind: LayerKind) => number): number =>
    kinds.reduce((sum, kind) => sum + width(kind), 0) / kinds.length;
  const attending = kinds.filter((kind) => keptHeads(kind) !== undefined);
  const headSizes = attending.reduce((sum, kind) => sum + (keptHeads(kind)?.headSize ?? 0), 0);
  return {
    hiddenSize,
    ffnSize: mean(({ feedForward }) => activeSize(feedForward)),
    heads: mean((kind) => keptHeads(kind)?.heads ?? 0),
    kvHeads: mean((kind) => keptHeads(kind)?.kvHeads ?? 0),
    headSize: headSizes / Math.max(1, attending.length),
  };
}

/** The purpose of a tensor, which decides its quantization in a mix. */
export type TensorRole =
  | LayerWeight['role']
  | 'token_embd'
  | 'output'
  | 'output_norm'
  /** Embeddings that layers have for themselves, and what the whole embedding adds to them (Shape.layerInputs). */
  | 'per_layer_token_embd'
  | 'per_layer_model_proj'
  | 'per_layer_proj_norm'
  /** Gate and up of experts in one matrix of each. */
  | 'ffn_gate_up_exps'
  /** Divisors of the rotary angles, one vector for all layers. */
  | 'rope_freqs'
  /** The same for contexts up to the original length, and beyond it. */
  | 'rope_factors_short'
  | 'rope_factors_long'
  /** A weight that doesn't run: part of a block that predicts a token beyond the next one, or of keys that are never read. */
  | 'unused';

/** A weight tensor: `rows` × `columns`, multiplied with a vector of `columns` values; a vector has one row. */
export interface TensorShape {
  readonly role: TensorRole;
  /** Index of the layer, or undefined for embedding, output and final norm. */
  readonly layer: number | undefined;
  /** Rows of all experts where it has a matrix, or a vector, of each. */
  readonly rows: number;
  readonly columns: number;
  /** Experts that it has rows of; missing: it is used by every token. */
  readonly experts?: number;
  /** Heads that it has a matrix of. */
  readonly heads?: number;
}

/** Every weight tensor of a model: the embedding, layer after layer, and the output. */
export function tensorShapes({
  layers: count,
  kinds,
  hiddenSize,
  vocabularySize,
  tiedEmbeddings,
  layerInputs,
}: Shape): TensorShape[] {
  if (kinds.length !== count) throw new RangeError(`${kinds.length} kinds for ${count} layers`);
  const outer = (role: TensorRole, rows: number, columns: number): TensorShape => ({
    role,
    layer: undefined,
    rows,
    columns,
  });
  const layers = kinds.flatMap((kind, layer) =>
    describe(kind, hiddenSize).weights.map((weight): TensorShape => ({ ...weight, layer })),
  );
  const output = tiedEmbeddings ? [] : [outer('output', vocabularySize, hiddenSize)];
  const inputs =
    layerInputs === undefined
      ? []
      : [
          outer('per_layer_token_embd', vocabularySize, count * layerInputs),
          outer('per_layer_model_proj', count * layerInputs, hiddenSize),
          outer('per_layer_proj_norm', 1, layerInputs),
        ];
  return [
    ...[outer('token_embd', vocabularySize, hiddenSize), ...inputs, ...layers],
    ...[outer('output_norm', 1, hiddenSize), ...output],
  ];
}
