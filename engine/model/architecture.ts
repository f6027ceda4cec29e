import { describe, type LayerWeight } from './block.ts';
import { activeSize, type LayerKind } from './layer-kind.ts';

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
    attention: {
      ...{ heads, kvHeads, headSize, bias: qkvBias, rotation: 'global' },
      ...(shared.architecture === 'qwen3' && { norms: 'heads' as const }),
    },
    feedForward: { kind: 'dense', size: ffnSize, activation: 'silu' },
    resultNorms: false,
  };
  return { ...shared, kinds: new Array<LayerKind>(shared.layers).fill(kind) };
}

/** The widths of a layer, or their means over unlike layers, which the papers' formulas take for all layers. */
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
  return {
    hiddenSize,
    ffnSize: mean(({ feedForward }) => activeSize(feedForward)),
    heads: mean(({ attention }) => attention.heads),
    kvHeads: mean(({ attention }) => attention.kvHeads),
    headSize: mean(({ attention }) => attention.headSize),
  };
}

/** The purpose of a tensor, which decides its quantization in a mix. */
export type TensorRole =
  | LayerWeight['role']
  | 'token_embd'
  | 'output'
  | 'output_norm'
  /** Q, K and V in one matrix, which some GGUF files have in place of the three. */
  | 'attn_qkv'
  /** Divisors of the rotary angles, one vector for all layers. */
  | 'rope_freqs'
  /** The same for contexts up to the original length, and beyond it. */
  | 'rope_factors_short'
  | 'rope_factors_long'
  /** A weight of a block that predicts a token beyond the next one, which doesn't run. */
  | 'prediction';

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
}

/** Every weight tensor of a model: the embedding, layer after layer, and the output. */
export function tensorShapes({
  layers: count,
  kinds,
  hiddenSize,
  vocabularySize,
  tiedEmbeddings,
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
  return [outer('token_embd', vocabularySize, hiddenSize), ...layers, outer('output_norm', 1, hiddenSize), ...output];
}
