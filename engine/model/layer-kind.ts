import type { Activation, Router } from './feed-forward.ts';

/** Kinds of layers: all that distinguishes a layer of a transformer from others. block.ts says what follows. */

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
  /** Whether the output has a bias too. */
  readonly outputBias?: true;
  /**
   * How queries and keys are normalised: each head before its rotation or after it, or all heads together before it;
   * missing: not.
   */
  readonly norms?: (typeof HEAD_NORMS)[number];
  /** Positions that a token sees, its own included; missing: all up to its own. */
  readonly window?: number;
  /** Which of the model's rotations is applied to queries and keys. */
  readonly rotation: RotationName | 'none';
  /** Factor of the scores; missing: 1/√headSize. */
  readonly scale?: number;
  /** Whether each head has a score that belongs to no position (AttentionOperation.sinks). */
  readonly sinks?: true;
}

export const HEAD_NORMS = ['heads', 'heads-after-rotation', 'all-heads'] as const;

/** The rotations of a model: that of most layers, and one of layers with a window, where they have their own. */
export const ROTATIONS = ['global', 'local'] as const;
export type RotationName = (typeof ROTATIONS)[number];

/** W_down · (activation(W_gate · h) ∘ W_up · h) */
export interface Dense {
  readonly kind: 'dense';
  /** I: inner width. */
  readonly size: number;
  readonly activation: Activation;
}

/**
 * A mixture of experts: Σ w_e · W_down,e · (activation(W_gate,e · h) ∘ W_up,e · h) over the experts e that a router chooses
 * for the token (Shazeer et al. 2017, Section 2), and a shared expert, which every token uses.
 */
export interface Experts {
  readonly kind: 'experts';
  readonly router: Router;
  /** Inner width of an expert. */
  readonly size: number;
  readonly activation: Activation;
  /** Whether the router and the experts' matrices have biases (gpt-oss). */
  readonly bias?: true;
  /** Whether scores have a bias where experts are chosen (DeepSeek-V3). */
  readonly choiceBias?: true;
  readonly shared?: SharedExpert;
}

/** A dense network beside the experts, all of its experts in one. */
export interface SharedExpert {
  readonly size: number;
  /** Whether its result is multiplied with a number of the token between 0 and 1 (Qwen2-MoE). */
  readonly gated: boolean;
}

/** A kind of layer: all that distinguishes a layer from others. Layers of one kind share the object. */
export interface LayerKind {
  readonly attention: Attention;
  readonly feedForward: Dense | Experts;
  /** Name of the norm before the feed-forward part; missing: `ffn_norm`. */
  readonly feedForwardNorm?: (typeof FEED_FORWARD_NORMS)[number];
  /** Whether what attention and feed-forward add to the residual stream is normalised too (Gemma). */
  readonly resultNorms: boolean;
  /** Factor of what is added to the residual stream; missing: 1 (Granite). */
  readonly residualScale?: number;
}

/** Names of the norm before the feed-forward part. */
export const FEED_FORWARD_NORMS = ['ffn_norm', 'post_attention_norm'] as const;

/** The score factor of a layer's attention. */
export function attentionScale({ scale, headSize }: Attention): number {
  return scale ?? 1 / Math.sqrt(headSize);
}

/** Inner width of what a token uses of a feed-forward part: all of its experts together, and the shared one. */
export function activeSize(feedForward: Dense | Experts): number {
  if (feedForward.kind === 'dense') return feedForward.size;
  return feedForward.router.used * feedForward.size + (feedForward.shared?.size ?? 0);
}
