/** Transformer families that the papers run. They differ in biases and norms, not in the shape of a block. */
export const ARCHITECTURES = ['llama', 'qwen2', 'qwen3', 'internlm2'] as const;
export type Architecture = (typeof ARCHITECTURES)[number];

/** The numbers that determine every tensor's shape. */
export interface Shape {
  readonly name: string;
  readonly architecture: Architecture;
  /** L: transformer layers (blocks). */
  readonly layers: number;
  /** e (prima.cpp), H (HELM): width of the residual stream. */
  readonly hiddenSize: number;
  /** I: inner width of the feed-forward part. */
  readonly ffnSize: number;
  /** h_a: query heads. */
  readonly heads: number;
  /** h_k = h_v (prima.cpp), h_kv (HELM): key and value heads. */
  readonly kvHeads: number;
  /** e_k = e_v (prima.cpp), d_h (HELM): width of a head. */
  readonly headSize: number;
  /** V: entries of the vocabulary. */
  readonly vocabularySize: number;
  /** The output matrix is the embedding matrix. */
  readonly tiedEmbeddings: boolean;
  readonly qkvBias: boolean;
  /** Tokens of the longest text that the model was trained on; missing where unknown. */
  readonly trainedContext?: number;
}

/** The purpose of a tensor, which decides its quantization in a mix. */
export type TensorRole =
  | 'token_embd'
  | 'output'
  | 'output_norm'
  | 'attn_norm'
  | 'attn_q'
  | 'attn_k'
  | 'attn_v'
  /** Q, K and V in one matrix, which some GGUF files have in place of the three. */
  | 'attn_qkv'
  | 'attn_output'
  | 'attn_bias'
  | 'attn_head_norm'
  | 'ffn_norm'
  | 'ffn_gate'
  | 'ffn_up'
  | 'ffn_down'
  /** Divisors of the rotary angles, one vector for all layers. */
  | 'rope_freqs';

/** A weight tensor: `rows` × `columns`, multiplied with a vector of `columns` values; a vector has one row. */
export interface TensorShape {
  readonly role: TensorRole;
  /** Index of the layer, or undefined for embedding, output and final norm. */
  readonly layer: number | undefined;
  readonly rows: number;
  readonly columns: number;
}

/** Every weight tensor of a model: the embedding, layer after layer, and the output. */
export function tensorShapes(shape: Shape): TensorShape[] {
  const { hiddenSize, vocabularySize } = shape;
  const outer = (role: TensorRole, rows: number, columns: number): TensorShape => ({
    role,
    layer: undefined,
    rows,
    columns,
  });
  const layers = Array.from({ length: shape.layers }, (_, layer) => layerTensors(shape, layer)).flat();
  const output = shape.tiedEmbeddings ? [] : [outer('output', vocabularySize, hiddenSize)];
  return [outer('token_embd', vocabularySize, hiddenSize), ...layers, outer('output_norm', 1, hiddenSize), ...output];
}

function layerTensors(shape: Shape, layer: number): TensorShape[] {
  const { hiddenSize, ffnSize } = shape;
  const queryWidth = shape.heads * shape.headSize;
  const kvWidth = shape.kvHeads * shape.headSize;
  const tensor = (role: TensorRole, rows: number, columns: number): TensorShape => ({ role, layer, rows, columns });
  return [
    tensor('attn_norm', 1, hiddenSize),
    tensor('attn_q', queryWidth, hiddenSize),
    tensor('attn_k', kvWidth, hiddenSize),
    tensor('attn_v', kvWidth, hiddenSize),
    tensor('attn_output', hiddenSize, queryWidth),
    ...(shape.qkvBias ? [tensor('attn_bias', 1, queryWidth + 2 * kvWidth)] : []),
    ...(shape.architecture === 'qwen3' ? [tensor('attn_head_norm', 2, shape.headSize)] : []),
    tensor('ffn_norm', 1, hiddenSize),
    tensor('ffn_gate', ffnSize, hiddenSize),
    tensor('ffn_up', ffnSize, hiddenSize),
    tensor('ffn_down', hiddenSize, ffnSize),
  ];
}
