import type { Shape, TensorRole, TensorShape } from './architecture.ts';
import { QUANTIZATIONS, type Quantization } from './quantization.ts';

/**
 * How a whole model is quantized. The K mixes keep sensitive tensors in finer formats; `F16` and `Q8_0` keep vectors in
 * F32, as GGUF files do; `BF16` is an unquantized checkpoint, vectors included (what HELM runs).
 */
export const MIXES = ['Q4_K_M', 'Q4_K_S', 'Q8_0', 'F16', 'BF16'] as const;
export type Mix = (typeof MIXES)[number];

/** Formats used instead where a row is not a whole number of 256-value blocks (e.g. Qwen2.5-72B's ffn_down). */
const FALLBACK: Partial<Record<Quantization, Quantization>> = {
  Q2_K: 'IQ4_NL',
  Q3_K: 'IQ4_NL',
  Q4_K: 'Q5_0',
  Q5_K: 'Q5_1',
  Q6_K: 'Q8_0',
};

const VECTOR_ROLES: ReadonlySet<TensorRole> = new Set([
  'output_norm',
  'attn_norm',
  'attn_bias',
  'attn_head_norm',
  'ffn_norm',
  'rope_freqs',
]);

/**
 * The quantization of one tensor in a mix, by the rules of llama.cpp's quantizer; test/model/sizes.test.ts compares the
 * resulting sizes with published GGUF files.
 */
export function tensorQuantization(tensor: TensorShape, shape: Shape, mix: Mix): Quantization {
  if (mix === 'BF16') return 'BF16';
  if (VECTOR_ROLES.has(tensor.role)) return 'F32';
  if (mix === 'F16' || mix === 'Q8_0') return mix;
  return fittingQuantization(tensor, kMixQuantization(tensor, shape, mix));
}

/** The quantization of one tensor in a model whose matrices are `wanted` and whose vectors are F32. */
export function uniformQuantization(tensor: TensorShape, wanted: Quantization): Quantization {
  return VECTOR_ROLES.has(tensor.role) ? 'F32' : fittingQuantization(tensor, wanted);
}

function fittingQuantization({ columns }: TensorShape, wanted: Quantization): Quantization {
  return columns % QUANTIZATIONS[wanted].block === 0 ? wanted : (FALLBACK[wanted] ?? wanted);
}

function kMixQuantization({ role, layer }: TensorShape, shape: Shape, mix: 'Q4_K_M' | 'Q4_K_S'): Quantization {
  const index = layer ?? 0;
  switch (role) {
    case 'output':
      return 'Q6_K';
    case 'token_embd':
      return shape.tiedEmbeddings ? 'Q6_K' : 'Q4_K';
    case 'attn_v': {
      const chosen =
        mix === 'Q4_K_M' ? (getsMoreBits(index, shape.layers) ? 'Q6_K' : 'Q4_K') : index < 4 ? 'Q5_K' : 'Q4_K';
      return chosen === 'Q4_K' && sharesValuesAmongEight(shape) ? 'Q5_K' : chosen;
    }
    case 'ffn_down':
      if (mix === 'Q4_K_M') return getsMoreBits(index, shape.layers) ? 'Q6_K' : 'Q4_K';
      return index < Math.floor(shape.layers / 8) ? 'Q5_K' : 'Q4_K';
    default:
      return 'Q4_K';
  }
}

/** Whether the layer is in the first or last eighth, or is every third one between. */
function getsMoreBits(layer: number, layers: number): boolean {
  const eighth = Math.floor(layers / 8);
  return layer < eighth || layer >= Math.floor((7 * layers) / 8) || (layer - eighth) % 3 === 2;
}

/** Whether the model is of the 70B class: eight query heads share a value head, so a finer attn_v costs little. */
function sharesValuesAmongEight(shape: Shape): boolean {
  return shape.layers === 80 && shape.heads !== shape.kvHeads;
}
