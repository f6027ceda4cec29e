import type { Shape, TensorShape } from './architecture.ts';
import { keptHeads, type LayerKind } from './layer-kind.ts';
import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization } from './quantization.ts';

/**
 * How a whole model is quantized. The K mixes keep sensitive tensors in finer formats; `MXFP4_MOE` has
 * experts in MXFP4 and other matrices in Q8_0 (gpt-oss); `F16` and `Q8_0` keep vectors in F32, as GGUF files do; `BF16` is an unquantized checkpoint, vectors included (what HELM runs).
 */
export const MIXES = [
  'Q4_K_M',
  'Q4_K_S',
  'Q5_K_M',
  'Q5_K_S',
  'Q3_K_L',
  'Q3_K_M',
  'Q3_K_S',
  'Q2_K_S',
  'MXFP4_MOE',
  'Q8_0',
  'F16',
  'BF16',
] as const;
/** Name of a mix of formats for a model's matrices. */
export type Mix = (typeof MIXES)[number];
type KMix = Exclude<Mix, 'MXFP4_MOE' | 'Q8_0' | 'F16' | 'BF16'>;

/** One of llama.cpp's mixes, or one format for every matrix. */
export type FileMix = Mix | Quantization;

export const FILE_MIXES: readonly FileMix[] = [...new Set([...MIXES, ...QUANTIZATION_NAMES])];

/** Formats used instead where a row is not a whole number of 256-value blocks (e.g. Qwen2.5-72B's ffn_down). */
const FALLBACK: Partial<Record<Quantization, Quantization>> = {
  Q2_K: 'IQ4_NL',
  Q3_K: 'IQ4_NL',
  IQ1_S: 'IQ4_NL',
  IQ1_M: 'IQ4_NL',
  IQ2_XXS: 'IQ4_NL',
  IQ2_XS: 'IQ4_NL',
  IQ2_S: 'IQ4_NL',
  IQ3_XXS: 'IQ4_NL',
  IQ3_S: 'IQ4_NL',
  IQ4_XS: 'IQ4_NL',
  TQ1_0: 'Q4_0',
  TQ2_0: 'Q4_0',
  Q4_K: 'Q5_0',
  Q5_K: 'Q5_1',
  Q6_K: 'Q8_0',
};

/**
 * The quantization of one tensor in a mix, by the rules of llama.cpp's quantizer, or with all matrices in one format; test/model/sizes.test.ts compares the
 * resulting sizes with published GGUF files.
 */
export function tensorQuantization(tensor: TensorShape, shape: Shape, mix: FileMix): Quantization {
  if (!isMix(mix)) return fileQuantization(tensor, shape, mix);
  if (mix === 'BF16') return 'BF16';
  if (staysFloat(tensor)) return 'F32';
  if (mix === 'F16' || mix === 'Q8_0') return mix;
  if (mix === 'MXFP4_MOE') return fittingQuantization(tensor, tensor.experts === undefined ? 'Q8_0' : 'MXFP4');
  return fittingQuantization(tensor, kMixQuantization(tensor, shape, mix));
}

/**
 * The format of one tensor in a file that Hearth writes. Vectors and routers are F32 in every mix, BF16 included: llama.cpp can't
 * add or multiply others.
 */
export function fileQuantization(tensor: TensorShape, shape: Shape, mix: FileMix): Quantization {
  if (isMix(mix) && mix !== 'BF16') return tensorQuantization(tensor, shape, mix);
  return staysFloat(tensor) ? 'F32' : fittingQuantization(tensor, mix);
}

function isMix(mix: FileMix): mix is Mix {
  return (MIXES as readonly string[]).includes(mix);
}

/** Whether tensors of this role are vectors (norms, biases, sinks, convolutions, divisors of angles). */
export function isVector({ role }: Pick<TensorShape, 'role'>): boolean {
  return /_norm(_\d)?$|_bias$|_scale$|^rope_|^attn_sinks$|_conv1?d?$|^ssm_[ad]$/.test(role);
}

/** Whether no mix quantizes tensors of this role: vectors, and routers, whose rounding would choose other experts. */
export function staysFloat(tensor: Pick<TensorShape, 'role'>): boolean {
  return isVector(tensor) || tensor.role === 'ffn_gate_inp' || tensor.role === 'ffn_gate_inp_shexp';
}

function fittingQuantization({ columns }: TensorShape, wanted: Quantization): Quantization {
  return columns % QUANTIZATIONS[wanted].block === 0 ? wanted : (FALLBACK[wanted] ?? wanted);
}

/** The format of a mix's matrices, and of those that differ by their role and layer (index of `layers`). */
interface KMixRule {
  readonly matrices: Quantization;
  readonly valueMatrix?: (layer: number, shape: Shape) => Quantization | undefined;
  readonly down?: (layer: number, layers: number) => Quantization | undefined;
  readonly attentionOutput?: Quantization;
  readonly fusedAttention?: Quantization;
}

/** Source: llama.cpp's quantizer, tensor by tensor; what each file format's name stands for. */
const K_MIXES: Readonly<Record<KMix, KMixRule>> = {
  Q2_K_S: {
    matrices: 'Q2_K',
    valueMatrix: (layer, { kinds }) => (queriesPerValue(kinds[layer]) >= 4 ? 'Q4_K' : undefined),
    down: (layer, layers) => (layer < eighth(layers) ? 'Q4_K' : undefined),
  },
  Q3_K_S: { matrices: 'Q3_K' },
  Q3_K_M: {
    matrices: 'Q3_K',
    valueMatrix: (layer) => (layer < 2 ? 'Q5_K' : 'Q4_K'),
    down: (layer, layers) => (layer < Math.floor(layers / 16) ? 'Q5_K' : 'Q4_K'),
    attentionOutput: 'Q4_K',
    fusedAttention: 'Q4_K',
  },
  Q3_K_L: {
    matrices: 'Q3_K',
    valueMatrix: () => 'Q5_K',
    down: () => 'Q5_K',
    attentionOutput: 'Q5_K',
    fusedAttention: 'Q4_K',
  },
  Q4_K_S: {
    matrices: 'Q4_K',
    valueMatrix: (layer) => (layer < 4 ? 'Q5_K' : undefined),
    down: (layer, layers) => (layer < eighth(layers) ? 'Q5_K' : undefined),
  },
  Q4_K_M: {
    matrices: 'Q4_K',
    valueMatrix: (layer, { layers }) => (getsMoreBits(layer, layers) ? 'Q6_K' : undefined),
    down: (layer, layers) => (getsMoreBits(layer, layers) ? 'Q6_K' : undefined),
    fusedAttention: 'Q5_K',
  },
  Q5_K_S: { matrices: 'Q5_K' },
  Q5_K_M: {
    matrices: 'Q5_K',
    valueMatrix: (layer, { layers }) => (getsMoreBits(layer, layers) ? 'Q6_K' : undefined),
    down: (layer, layers) => (getsMoreBits(layer, layers) ? 'Q6_K' : undefined),
    fusedAttention: 'Q6_K',
  },
};

function kMixQuantization({ role, layer = 0 }: TensorShape, shape: Shape, mix: KMix): Quantization {
  const { matrices, valueMatrix, down, attentionOutput, fusedAttention } = K_MIXES[mix];
  switch (role) {
    case 'output':
      return 'Q6_K';
    case 'token_embd':
    case 'per_layer_token_embd':
      return shape.tiedEmbeddings ? 'Q6_K' : matrices;
    case 'attn_k':
      return hasEightExperts(shape) ? 'Q8_0' : matrices;
    case 'attn_v':
    case 'attn_kv_b': {
      if (hasEightExperts(shape)) return 'Q8_0';
      const chosen = valueMatrix?.(layer, shape) ?? matrices;
      return (chosen === 'Q4_K' || chosen === 'Q3_K') && sharesValuesAmongEight(shape) ? 'Q5_K' : chosen;
    }
    case 'ffn_down':
    case 'ffn_down_exps':
    case 'ffn_down_shexp':
      return down?.(layer, shape.layers) ?? matrices;
    case 'attn_output':
      return hasEightExperts(shape) && EIGHT_EXPERTS.includes(mix) ? 'Q5_K' : (attentionOutput ?? matrices);
    case 'attn_qkv':
      return fusedAttention ?? matrices;
    default:
      return matrices;
  }
}

/** Mixes whose attn_output is finer in models of eight experts, where attention has a small part of the weights. */
const EIGHT_EXPERTS: readonly KMix[] = ['Q3_K_S', 'Q3_K_M', 'Q4_K_S', 'Q4_K_M'];

function hasEightExperts({ kinds }: Shape): boolean {
  return kinds.some(({ feedForward }) => feedForward?.kind === 'experts' && feedForward.router.experts === 8);
}

function eighth(layers: number): number {
  return Math.floor(layers / 8);
}

/** Whether the layer is in the first or last eighth, or is every third one between. */
function getsMoreBits(layer: number, layers: number): boolean {
  return layer < eighth(layers) || layer >= Math.floor((7 * layers) / 8) || (layer - eighth(layers)) % 3 === 2;
}

/** Whether the model is of the 70B class: eight query heads share a value head, so a finer attn_v costs little. */
function sharesValuesAmongEight(shape: Shape): boolean {
  return shape.layers === 80 && queriesPerValue(shape.kinds[0]) > 1;
}

/** Query heads that share a value head. */
function queriesPerValue(kind: LayerKind | undefined): number {
  const kept = kind && keptHeads(kind);
  return kept === undefined ? 1 : kept.heads / kept.kvHeads;
}
