/**
 * A layer (block) of a transformer, described once: its kind, and what follows from it, which is the weights it has,
 * the buffers it works in and the operations it consists of.
 */

/** Attention of query heads to the keys and values of past tokens (grouped queries: Ainslie et al. 2023). */
export interface Attention {
  /** h_a: query heads. */
  readonly heads: number;
  /** h_k = h_v (prima.cpp), h_kv (HELM): key and value heads. */
  readonly kvHeads: number;
  /** e_k = e_v (prima.cpp), d_h (HELM): width of a head. */
  readonly headSize: number;
  /** Whether queries, keys and values have biases. */
  readonly bias: boolean;
  /** Whether each head of queries and keys is normalised before its rotation. */
  readonly headNorms: boolean;
  /** Positions that a token sees, its own included; missing: all up to its own. */
  readonly window?: number;
  /** Which of the model's rotations is applied to queries and keys. */
  readonly rotation: RotationName | 'none';
  /** Factor of the scores; missing: 1/√headSize. */
  readonly scale?: number;
}

/** The rotations of a model: that of most layers, and one of layers with a window, where they have their own. */
export const ROTATIONS = ['global', 'local'] as const;
export type RotationName = (typeof ROTATIONS)[number];

export type Activation = 'silu' | 'gelu';

/** W_down · (activation(W_gate · h) ∘ W_up · h) */
export interface Dense {
  /** I: inner width. */
  readonly size: number;
  readonly activation: Activation;
}

/** A kind of layer: all that distinguishes a layer from others. Layers of one kind share the object. */
export interface LayerKind {
  readonly attention: Attention;
  readonly feedForward: Dense;
  /** Whether what attention and feed-forward add to the residual stream is normalised too (Gemma). */
  readonly resultNorms: boolean;
  /** Factor of what is added to the residual stream; missing: 1 (Granite). */
  readonly residualScale?: number;
}

/** Weights of a layer, by the names that GGUF files have for them. */
export type LayerMatrix = 'attn_q' | 'attn_k' | 'attn_v' | 'attn_output' | 'ffn_gate' | 'ffn_up' | 'ffn_down';
export type LayerBias = 'attn_q_bias' | 'attn_k_bias' | 'attn_v_bias';
export type LayerNorm =
  | 'attn_norm'
  | 'attn_q_norm'
  | 'attn_k_norm'
  | 'post_attention_norm'
  | 'ffn_norm'
  | 'post_ffw_norm';

/** A weight of a layer; a vector has one row. */
export interface LayerWeight {
  readonly role: LayerMatrix | LayerBias | LayerNorm;
  readonly rows: number;
  readonly columns: number;
}

/** Buffers with values of every token; all layers use the same memory. */
export type BufferName = 'x' | 'h' | 'q' | 'k' | 'v' | 'attended' | 'gate' | 'up' | 'result';

/** An operation over named buffers and weights. `attend` stores keys and values, and attends to those of past tokens. */
export type LayerStep =
  | { readonly kind: 'rms-norm'; readonly x: BufferName; readonly weight: LayerNorm; readonly y: BufferName }
  | {
      readonly kind: 'multiply';
      readonly weight: LayerMatrix;
      readonly bias?: LayerBias;
      readonly x: BufferName;
      readonly y: BufferName;
      readonly accumulate?: true;
    }
  | { readonly kind: 'rope'; readonly x: 'q' | 'k'; readonly heads: number; readonly rotation: RotationName }
  | { readonly kind: 'attend' }
  | { readonly kind: 'gate'; readonly activation: Activation }
  | { readonly kind: 'add'; readonly x: BufferName; readonly factor: number };

/** A layer's weights, buffers and operations, as they follow from its kind. */
export interface Block {
  readonly weights: readonly LayerWeight[];
  /** Values of each buffer for one token; 0 for those that it doesn't use. */
  readonly widths: Readonly<Record<BufferName, number>>;
  readonly steps: readonly LayerStep[];
}

const described = new WeakMap<LayerKind, Map<number, Block>>();

/**
 * A layer of this kind (Touvron et al. 2023, Section 2.2):
 *
 *     x += W_o · attention(W_q · h, W_k · h, W_v · h),        h = norm(x)
 *     x += W_down · (activation(W_gate · h) ∘ W_up · h),      h = norm(x)
 *
 * @param hiddenSize width of the residual stream
 */
export function describe(kind: LayerKind, hiddenSize: number): Block {
  const known = described.get(kind) ?? new Map<number, Block>();
  described.set(kind, known);
  const block = known.get(hiddenSize) ?? {
    weights: weightsOf(kind, hiddenSize),
    widths: widthsOf(kind, hiddenSize),
    steps: [...attentionSteps(kind), ...feedForwardSteps(kind)],
  };
  known.set(hiddenSize, block);
  return block;
}

function weightsOf({ attention, feedForward, resultNorms }: LayerKind, hiddenSize: number): LayerWeight[] {
  const { heads, kvHeads, headSize, bias, headNorms } = attention;
  const [queryWidth, kvWidth] = [heads * headSize, kvHeads * headSize];
  const weight = (role: LayerWeight['role'], rows: number, columns: number): LayerWeight => ({ role, rows, columns });
  const vector = (role: LayerBias | LayerNorm, columns: number): LayerWeight => weight(role, 1, columns);
  return [
    vector('attn_norm', hiddenSize),
    weight('attn_q', queryWidth, hiddenSize),
    weight('attn_k', kvWidth, hiddenSize),
    weight('attn_v', kvWidth, hiddenSize),
    weight('attn_output', hiddenSize, queryWidth),
    ...(bias
      ? [vector('attn_q_bias', queryWidth), vector('attn_k_bias', kvWidth), vector('attn_v_bias', kvWidth)]
      : []),
    ...(headNorms ? [vector('attn_q_norm', headSize), vector('attn_k_norm', headSize)] : []),
    ...(resultNorms ? [vector('post_attention_norm', hiddenSize)] : []),
    vector('ffn_norm', hiddenSize),
    weight('ffn_gate', feedForward.size, hiddenSize),
    weight('ffn_up', feedForward.size, hiddenSize),
    weight('ffn_down', hiddenSize, feedForward.size),
    ...(resultNorms ? [vector('post_ffw_norm', hiddenSize)] : []),
  ];
}

function widthsOf(kind: LayerKind, hiddenSize: number): Record<BufferName, number> {
  const { heads, kvHeads, headSize } = kind.attention;
  return {
    x: hiddenSize,
    h: hiddenSize,
    q: heads * headSize,
    k: kvHeads * headSize,
    v: kvHeads * headSize,
    attended: heads * headSize,
    gate: kind.feedForward.size,
    up: kind.feedForward.size,
    result: addsDirectly(kind) ? 0 : hiddenSize,
  };
}

function attentionSteps(kind: LayerKind): LayerStep[] {
  const { heads, kvHeads, bias, headNorms, rotation } = kind.attention;
  const product = (weight: LayerMatrix, biased: LayerBias, y: BufferName): LayerStep => ({
    ...{ kind: 'multiply', weight, x: 'h', y },
    ...(bias && { bias: biased }),
  });
  return [
    { kind: 'rms-norm', x: 'x', weight: 'attn_norm', y: 'h' },
    product('attn_q', 'attn_q_bias', 'q'),
    product('attn_k', 'attn_k_bias', 'k'),
    product('attn_v', 'attn_v_bias', 'v'),
    ...(headNorms
      ? ([
          { kind: 'rms-norm', x: 'q', weight: 'attn_q_norm', y: 'q' },
          { kind: 'rms-norm', x: 'k', weight: 'attn_k_norm', y: 'k' },
        ] as const)
      : []),
    ...(rotation === 'none'
      ? []
      : ([
          { kind: 'rope', x: 'q', heads, rotation },
          { kind: 'rope', x: 'k', heads: kvHeads, rotation },
        ] as const)),
    { kind: 'attend' },
    ...added(kind, 'attn_output', 'attended', 'post_attention_norm'),
  ];
}

function feedForwardSteps(kind: LayerKind): LayerStep[] {
  return [
    { kind: 'rms-norm', x: 'x', weight: 'ffn_norm', y: 'h' },
    { kind: 'multiply', weight: 'ffn_gate', x: 'h', y: 'gate' },
    { kind: 'multiply', weight: 'ffn_up', x: 'h', y: 'up' },
    { kind: 'gate', activation: kind.feedForward.activation },
    ...added(kind, 'ffn_down', 'gate', 'post_ffw_norm'),
  ];
}

/** Whether products are added to the residual stream as they are. */
function addsDirectly({ resultNorms, residualScale = 1 }: LayerKind): boolean {
  return !resultNorms && residualScale === 1;
}

/** A product that is added to the residual stream, normalised and scaled where the kind says so. */
function added(kind: LayerKind, weight: LayerMatrix, x: BufferName, norm: LayerNorm): LayerStep[] {
  if (addsDirectly(kind)) return [{ kind: 'multiply', weight, x, y: 'x', accumulate: true }];
  return [
    { kind: 'multiply', weight, x, y: 'result' },
    ...(kind.resultNorms ? ([{ kind: 'rms-norm', x: 'result', weight: norm, y: 'result' }] as const) : []),
    { kind: 'add', x: 'result', factor: kind.residualScale ?? 1 },
  ];
}

/** The score factor of a layer's attention. */
export function attentionScale({ scale, headSize }: Attention): number {
  return scale ?? 1 / Math.sqrt(headSize);
}
