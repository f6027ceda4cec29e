import type { ScaledMatrix } from './block/layer-weight.ts';
import type { Activation, Router } from './feed-forward.ts';

/** Kinds of layers: all that distinguishes a layer of a model from others. block/describe.ts says what follows. */

/** Attention of query heads to the keys and values of past tokens (grouped queries: Ainslie et al. 2023). */
export interface Attention {
  readonly kind: 'attention';
  /** h_a: query heads. */
  readonly heads: number;
  /** h_k = h_v (prima.cpp), h_kv (HELM): key and value heads. */
  readonly kvHeads: number;
  /** e_k = e_v (prima.cpp), d_h (HELM): width of a head. */
  readonly headSize: number;
  /** Whether queries, keys and values have biases; a list: those of them that have. */
  readonly bias: boolean | readonly (typeof ATTENTION_PRODUCTS)[number][];
  /** Whether the output has a bias too. */
  readonly outputBias?: true;
  /**
   * How queries and keys are normalised: each head before its rotation or after it, or all heads together before it;
   * missing: not.
   */
  readonly norms?: (typeof HEAD_NORMS)[number];
  /** Whether each head's values are normalised too, without weights (Gemma 4). */
  readonly valueNorm?: true;
  /** Whether values are the keys before their norm and rotation, rather than a product of their own (Gemma 4). */
  readonly valuesAreKeys?: true;
  /** The layer whose keys and values it attends to; missing: its own (Gemma 3n and 4). */
  readonly keysOf?: number;
  /**
   * Whether what a head attends to is multiplied with a gate, 1/(1 + e^−g), that its query brings along (Qwen3-Next).
   */
  readonly gated?: true;
  /** Positions that a token sees, its own included; missing: all up to its own. */
  readonly window?: number;
  /** The model's rotation that is applied to queries and keys. */
  readonly rotation: RotationName | 'none';
  /** Factor of the scores; missing: 1/√headSize. */
  readonly scale?: number;
  /** Whether each head has a score that belongs to no position (AttentionOperation.sinks). */
  readonly sinks?: true;
}

export const ATTENTION_PRODUCTS = ['attn_q', 'attn_k', 'attn_v'] as const;
export const HEAD_NORMS = ['heads', 'heads-after-rotation', 'all-heads'] as const;

/** The rotations of a model: that of most layers, and one of layers with a window, where they have their own. */
export const ROTATIONS = ['global', 'local'] as const;
export type RotationName = (typeof ROTATIONS)[number];

/**
 * Attention to compressed keys and values (DeepSeek-AI 2024, DeepSeek-V2, Section 2.1): of a token are kept `rank`
 * values c, from which a head's key and value are products, and the rotated part of a key, which all heads share.
 */
export interface LatentAttention {
  readonly kind: 'latent-attention';
  readonly heads: number;
  /** Values of a head's query and key that are not rotated, and those that are. */
  readonly plainSize: number;
  readonly rotatedSize: number;
  readonly valueSize: number;
  /** d_c: width of the compressed keys and values. */
  readonly rank: number;
  /** d'_c: width of the compressed queries; missing: they are not compressed. */
  readonly queryRank?: number;
  readonly scale: number;
  /**
   * Form in which a token is kept: c itself, to which queries are brought (`latent`; the products with keys and values
   * are then two tensors), or each head's key and value (`heads`; files from before 2025 have both products in one
   * tensor).
   */
  readonly kept: 'latent' | 'heads';
}

/** A layer without attention: a state of fixed size, which every token changes (Gated DeltaNet, Yang et al. 2024). */
export interface DeltaNet {
  readonly kind: 'delta-net';
  readonly keyHeads: number;
  readonly valueHeads: number;
  /** Width of a head's key, and of its value. */
  readonly size: number;
  /** Tokens that the convolution before it covers. */
  readonly width: number;
  /** How value heads share key heads (DeltaRuleOperation.order). */
  readonly order: 'neighbours' | 'apart';
  /** Whether strength and decay are one product, in which those of a key head are together (Qwen3-Next). */
  readonly joined?: true;
}

/** A selective state space (Mamba-2, Dao and Gu 2024). */
export interface Mamba {
  readonly kind: 'mamba';
  readonly heads: number;
  readonly headSize: number;
  /** Groups of heads that share B and C, and whose results are normalised together. */
  readonly groups: number;
  readonly stateSize: number;
  /** Tokens that the convolution before it covers. */
  readonly width: number;
}

/** A convolution over the last few tokens between two gates (LFM2, Liquid AI 2025). */
export interface ShortConvolution {
  readonly kind: 'short-convolution';
  /** Tokens that it covers. */
  readonly width: number;
}

/** Mixers whose state doesn't grow with the text. */
export type Recurrence = DeltaNet | Mamba | ShortConvolution;

/** Part of a layer that mixes the tokens of a text. */
export type Mixer = Attention | LatentAttention | Recurrence;

/** W_down · (activation(W_gate · h) ∘ W_up · h) */
export interface Dense {
  readonly kind: 'dense';
  /** I: inner width. */
  readonly size: number;
  readonly activation: Activation;
  /** Whether there is no W_gate, and W_up · h takes its place. */
  readonly ungated?: true;
  /** Products that have biases; missing: none. */
  readonly biases?: readonly (typeof DENSE_PRODUCTS)[number][];
}

export const DENSE_PRODUCTS = ['ffn_gate', 'ffn_up', 'ffn_down'] as const;

/**
 * A mixture of experts: Σ w_e · W_down,e · (activation(W_gate,e · h) ∘ W_up,e · h) over the experts e that a router
 * chooses for the token (Shazeer et al. 2017, Section 2), and a shared expert, which every token uses.
 */
export interface Experts {
  readonly kind: 'experts';
  readonly router: Router;
  /** Inner width of an expert. */
  readonly size: number;
  readonly activation: Activation;
  /** Whether experts, and the shared one, have no W_gate, as Dense. */
  readonly ungated?: true;
  /** Whether the router and the experts' matrices have biases (gpt-oss). */
  readonly bias?: true;
  /** Whether scores have a bias where experts are chosen (DeepSeek-V3). */
  readonly choiceBias?: true;
  readonly shared?: SharedExpert;
  /**
   * Inner width of a dense network next to the mixture. Both then have norms of their own before and after them, the
   * router has one as well, and each expert's weight has a factor (Gemma 4).
   */
  readonly beside?: number;
}

/** A dense network next to the experts, all of its experts in one. */
export interface SharedExpert {
  readonly size: number;
  /** Whether its result is multiplied with a number of the token between 0 and 1 (Qwen2-MoE). */
  readonly gated: boolean;
}

/** A kind of layer: all that distinguishes a layer from others. Layers of one kind share the object. */
export interface LayerKind {
  /** Missing where the layer is a feed-forward part alone. */
  readonly mixer?: Mixer;
  /** Missing where the layer is a mixer alone. */
  readonly feedForward?: Dense | Experts;
  /** Name of the norm before the feed-forward part; missing: `ffn_norm`. */
  readonly feedForwardNorm?: (typeof FEED_FORWARD_NORMS)[number];
  /** Whether what mixer and feed-forward part add to the residual stream is normalised too (Gemma). */
  readonly resultNorms: boolean;
  /** Factor of what is added to the residual stream; missing: 1 (Granite). */
  readonly residualScale?: number;
  /** Width of an embedding of the token that belongs to this layer (Gemma 3n and 4, Shape.layerInputs). */
  readonly inputSize?: number;
  /** Whether the residual stream is multiplied with a number at the end. */
  readonly outputScale?: true;
  /** Matrices whose products are multiplied with a number of their own, or of each expert; missing: none. */
  readonly scaled?: readonly ScaledMatrix[];
}

/** Names of the norm before the feed-forward part. */
export const FEED_FORWARD_NORMS = ['ffn_norm', 'post_attention_norm', 'attn_norm'] as const;

/** Heads as attention has them over what is kept of past tokens. */
export interface KeptHeads extends Pick<Attention, 'heads' | 'kvHeads' | 'headSize' | 'window'> {
  readonly scale: number;
}

/** The heads of a layer's attention; `undefined` for a layer that keeps nothing of single tokens. */
export function keptHeads({ mixer }: Pick<LayerKind, 'mixer'>): KeptHeads | undefined {
  if (mixer?.kind === 'attention') {
    const { heads, kvHeads, headSize, window, scale = 1 / Math.sqrt(headSize) } = mixer;
    return { heads, kvHeads, headSize, scale, ...(window !== undefined && { window }) };
  }
  return mixer?.kind === 'latent-attention' ? keptLatentHeads(mixer) : undefined;
}

export function keptLatentHeads({ heads, rotatedSize, plainSize, rank, scale, kept }: LatentAttention): KeptHeads {
  return kept === 'latent'
    ? { heads, kvHeads: 1, headSize: rotatedSize + rank, scale }
    : { heads, kvHeads: heads, headSize: rotatedSize + plainSize, scale };
}

/** Whether a layer stores keys and values: attends, and not to those of another layer. */
export function storesKeys({ mixer }: Pick<LayerKind, 'mixer'>): boolean {
  return mixer?.kind === 'latent-attention' || (mixer?.kind === 'attention' && mixer.keysOf === undefined);
}

/** Numbers of a text that a recurrent layer keeps, whatever the text's length. */
export interface StateSize {
  /** Inputs of the last tokens, for the convolution. */
  readonly inputs: number;
  readonly memory: number;
}

/** @param hiddenSize width of the residual stream */
export function stateSize(mixer: Recurrence, hiddenSize: number): StateSize {
  const inputs = (mixer.width - 1) * convolvedChannels(mixer, hiddenSize);
  switch (mixer.kind) {
    case 'delta-net':
      return { inputs, memory: mixer.valueHeads * mixer.size ** 2 };
    case 'mamba':
      return { inputs, memory: mixer.heads * mixer.headSize * mixer.stateSize };
    case 'short-convolution':
      return { inputs, memory: 0 };
  }
}

/** Channels of a recurrent layer's convolution. */
export function convolvedChannels(mixer: Recurrence, hiddenSize: number): number {
  switch (mixer.kind) {
    case 'delta-net':
      return (2 * mixer.keyHeads + mixer.valueHeads) * mixer.size;
    case 'mamba':
      return mixer.heads * mixer.headSize + 2 * mixer.groups * mixer.stateSize;
    case 'short-convolution':
      return hiddenSize;
  }
}

/** The recurrence of a layer that has one. */
export function recurrenceOf({ mixer }: Pick<LayerKind, 'mixer'>): Recurrence | undefined {
  return mixer === undefined || mixer.kind === 'attention' || mixer.kind === 'latent-attention' ? undefined : mixer;
}

/** Whether any layer keeps a state, from which no earlier one can be had. */
export function isRecurrent({ kinds }: { readonly kinds: readonly LayerKind[] }): boolean {
  return kinds.some((kind) => recurrenceOf(kind) !== undefined);
}

/** Inner width of what a token uses of a feed-forward part: all of its experts together, and the shared one. */
export function activeSize(feedForward: Dense | Experts | undefined): number {
  if (feedForward === undefined) return 0;
  if (feedForward.kind === 'dense') return feedForward.size;
  const { router, size, shared, beside = 0 } = feedForward;
  return router.used * size + (shared?.size ?? 0) + beside;
}
