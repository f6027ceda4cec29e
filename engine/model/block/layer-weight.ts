/** Weights of a layer, by the names that GGUF files have for them. */
export type LayerMatrix =
  | 'attn_q'
  | 'attn_k'
  | 'attn_v'
  | 'attn_output'
  /** Latent attention: compressed queries and their heads, compressed keys and values, and the heads of both. */
  | 'attn_q_a'
  | 'attn_q_b'
  | 'attn_kv_a_mqa'
  | 'attn_kv_b'
  /** Recurrences: what is convolved, the gate of the result, strength and decay, and the output. */
  | 'attn_qkv'
  | 'attn_gate'
  | 'ssm_alpha'
  | 'ssm_beta'
  | 'ssm_ba'
  | 'ssm_in'
  | 'ssm_out'
  | 'shortconv_in_proj'
  | 'shortconv_out_proj'
  | 'ffn_gate'
  | 'ffn_up'
  | 'ffn_down'
  /** The router, the shared expert and the number that gates it. */
  | 'ffn_gate_inp'
  | 'ffn_gate_shexp'
  | 'ffn_up_shexp'
  | 'ffn_down_shexp'
  | 'ffn_gate_inp_shexp'
  /** The layer's own embedding of a token. */
  | 'inp_gate'
  | 'proj';
/** The matrices of all heads, one head after the other, each of which multiplies its own head. */
export type HeadMatrix = 'attn_k_b' | 'attn_v_b';
/** The matrices of all experts, one expert after the other. */
export const EXPERT_MATRICES = ['ffn_gate_exps', 'ffn_up_exps', 'ffn_down_exps'] as const;
/** Matrices of a layer's experts. */
export type ExpertMatrix = (typeof EXPERT_MATRICES)[number];
/** Matrices that multiply activations. */
export type LayerProduct = LayerMatrix | HeadMatrix | ExpertMatrix;
/** Matrices that may have a bias. */
type PlainMatrix = 'attn_q' | 'attn_k' | 'attn_v' | 'attn_output' | 'ffn_gate' | 'ffn_up' | 'ffn_down';
/**
 * Matrices whose products may be multiplied with a number of the file (`.scale`), or with one of each expert: those for
 * which llama.cpp loads it (llama-model.cpp, load_tensors).
 */
export const SCALED_MATRICES = [
  ...(['attn_q', 'attn_k', 'attn_v', 'attn_output', 'attn_qkv', 'attn_gate'] as const),
  ...(['ffn_gate', 'ffn_up', 'ffn_down', 'ffn_gate_shexp', 'ffn_up_shexp', 'ffn_down_shexp'] as const),
  ...(['ssm_in', 'ssm_out', 'ssm_alpha', 'ssm_beta'] as const),
  ...EXPERT_MATRICES,
] as const;
/** Matrices that may have a factor. */
export type ScaledMatrix = (typeof SCALED_MATRICES)[number];
/** Factors of whole matrices. */
export type LayerScale = `${ScaledMatrix}_scale`;
/** Biases of a layer's matrices. */
export type LayerBias = `${PlainMatrix}_bias` | 'ffn_gate_inp_bias';
/** Biases of experts' matrices, one row for each expert. */
export type ExpertBias = 'ffn_gate_exps_bias' | 'ffn_up_exps_bias' | 'ffn_down_exps_bias';
/**
 * Vectors that are used by themselves: sinks of heads, the bias of scores where experts are chosen and factors of their
 * weights, convolutions, and what decides how a state changes; `layer_output_scale` and those of matrices are one number.
 */
export type LayerVector =
  | LayerScale
  | 'attn_sinks'
  | 'exp_probs_b_bias'
  | 'ssm_conv1d'
  | 'ssm_conv1d_bias'
  | 'shortconv_conv'
  | 'ssm_dt_bias'
  | 'ssm_a'
  | 'ssm_d'
  | 'layer_output_scale';
/** Factors of a layer's norms. */
export type LayerNorm =
  | 'attn_norm'
  | 'attn_q_norm'
  | 'attn_k_norm'
  | 'attn_q_a_norm'
  | 'attn_kv_a_norm'
  | 'ssm_norm'
  | 'post_attention_norm'
  | 'ffn_norm'
  | 'post_ffw_norm'
  /** Norms of a mixture next to a dense network: after that network, before and after the mixture, and before the router. */
  | 'post_ffw_norm_1'
  | 'pre_ffw_norm_2'
  | 'post_ffw_norm_2'
  | 'ffn_gate_inp_scale'
  | 'post_norm';

/** A weight of a layer; a vector has one row. */
export interface LayerWeight {
  readonly role: LayerProduct | LayerBias | ExpertBias | LayerVector | LayerNorm;
  /** Rows of all experts, or heads, where it has a matrix, or a vector, of each. */
  readonly rows: number;
  readonly columns: number;
  /** Experts that it has rows of; missing: it is used by every token. */
  readonly experts?: number;
  /** Heads that it has a matrix of. */
  readonly heads?: number;
}

export function matrix(role: LayerMatrix, rows: number, columns: number): LayerWeight {
  return { role, rows, columns };
}

export function vector(role: LayerBias | LayerVector | LayerNorm, columns: number): LayerWeight {
  return { role, rows: 1, columns };
}
