import { type Shape, type TensorRole, type TensorShape, tensorShapes } from '../model/architecture.ts';
import { SCALED_MATRICES, type ScaledMatrix } from '../model/block/layer-weight.ts';
import { type Attention, activeSize, type Experts, type LayerKind } from '../model/layer-kind.ts';

/** A tensor of a model, as GGUF files name and divide it. */
export interface NamedTensor extends TensorShape {
  readonly name: string;
  /**
   * In ggml's order: [columns, rows], [columns] for a vector, [columns, rows, experts] for the matrices of experts, or of
   * heads.
   */
  readonly shape: readonly number[];
}

/** The tensors of a GGUF file of `shape`. */
export function namedTensors(shape: Shape): NamedTensor[] {
  return tensorShapes(shape).map(named);
}

/** Q, K and V of a layer fused into one matrix, as some converters write them: the rows of Q, then K, then V. */
export function fusedAttention(
  { heads, kvHeads, headSize }: Attention,
  { hiddenSize }: Shape,
  layer: number,
): NamedTensor {
  return named({ role: 'attn_qkv', layer, rows: (heads + 2 * kvHeads) * headSize, columns: hiddenSize });
}

/** Gate and up of a layer in one matrix, as phi3's files have them: the rows of the gate, then those of up. */
export function fusedFeedForward({ kinds, hiddenSize }: Shape, layer: number): NamedTensor {
  const size = activeSize((kinds[layer] as LayerKind).feedForward);
  return named({ role: 'ffn_up', layer, rows: 2 * size, columns: hiddenSize });
}

/** Gate and up of a layer's experts in one matrix of each expert: the rows of the gate, then those of up. */
export function fusedExperts({ router, size }: Experts, { hiddenSize }: Shape, layer: number): NamedTensor {
  const { experts } = router;
  return named({ role: 'ffn_gate_up_exps', layer, rows: experts * 2 * size, columns: hiddenSize, experts });
}

/** Divisors of rotary angles, which all layers share: Llama 3.1's, or those for short and for long contexts (phi3). */
export const ROPE_FACTORS = ['rope_freqs', 'rope_factors_short', 'rope_factors_long'] as const;
export type RopeFactorsRole = (typeof ROPE_FACTORS)[number];

/** @param rotated values of a head that are rotated */
export function ropeFactors(role: RopeFactorsRole, rotated: number): NamedTensor {
  return named({ role, layer: undefined, rows: 1, columns: rotated / 2 });
}

/** Names that don't follow from their role. */
const OWN_NAMES: Partial<Record<TensorRole, string>> = {
  ssm_a: 'ssm_a',
  ssm_d: 'ssm_d',
  shortconv_in_proj: 'shortconv.in_proj.weight',
  shortconv_conv: 'shortconv.conv.weight',
  shortconv_out_proj: 'shortconv.out_proj.weight',
  ffn_gate_inp_scale: 'ffn_gate_inp.scale',
};

/** Numbers with which products of matrices are multiplied. */
const SCALES: ReadonlyMap<TensorRole, string> = new Map(
  SCALED_MATRICES.map((name) => [`${name}_scale`, `${name}.scale`]),
);

/** Matrices that a file may have in one with others, whose number they then have. */
const TOGETHER: Partial<Record<ScaledMatrix, ScaledMatrix>> = {
  ...{ attn_q: 'attn_qkv', attn_k: 'attn_qkv', attn_v: 'attn_qkv' },
  ffn_gate: 'ffn_up',
};

/** The name of the number of a layer's matrix. @param has whether the file has a tensor */
export function scaleName(matrix: ScaledMatrix, layer: number, has: (tensor: string) => boolean): string {
  const whole = has(tensorName(matrix, layer)) ? undefined : TOGETHER[matrix];
  return tensorName(`${whole ?? matrix}_scale`, layer);
}

/** The name that some files have for the output's norm (LFM2). */
export const OTHER_OUTPUT_NORM = 'token_embd_norm.weight';

/** The name of a tensor in a file. */
export function tensorName(role: TensorRole, layer: number | undefined): string {
  const own =
    OWN_NAMES[role] ??
    SCALES.get(role) ??
    (role.endsWith('_bias') ? role.replace(/_bias$/, '.bias') : `${role}.weight`);
  return layer === undefined ? own : `blk.${layer}.${own}`;
}

function named(tensor: TensorShape): NamedTensor {
  const { role, layer, rows, columns, heads = 1, experts = heads } = tensor;
  const lengths = [columns, rows / experts, experts];
  // A vector, or one of each expert, has no length of 1 between or behind.
  return {
    ...tensor,
    name: tensorName(role, layer),
    shape: [columns, ...lengths.slice(1).filter((length) => length > 1)],
  };
}
