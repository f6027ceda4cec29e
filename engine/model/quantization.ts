/**
 * A number format of weights. `block` values share `bytes` bytes (scales included).
 * Source: the block layouts of GGUF's reference implementation (ggml), public file-format facts.
 */
export interface BlockLayout {
  readonly block: number;
  readonly bytes: number;
}

export const QUANTIZATIONS = {
  F32: { block: 1, bytes: 4 },
  F16: { block: 1, bytes: 2 },
  BF16: { block: 1, bytes: 2 },
  Q8_0: { block: 32, bytes: 34 },
  Q4_0: { block: 32, bytes: 18 },
  Q5_0: { block: 32, bytes: 22 },
  Q5_1: { block: 32, bytes: 24 },
  Q2_K: { block: 256, bytes: 84 },
  Q3_K: { block: 256, bytes: 110 },
  Q4_K: { block: 256, bytes: 144 },
  Q5_K: { block: 256, bytes: 176 },
  Q6_K: { block: 256, bytes: 210 },
  IQ4_NL: { block: 32, bytes: 18 },
} as const satisfies Record<string, BlockLayout>;

export type Quantization = keyof typeof QUANTIZATIONS;

export const QUANTIZATION_NAMES = Object.keys(QUANTIZATIONS) as Quantization[];

/** Bytes of `elements` values stored as `quantization`; rows are whole blocks, so the count divides. */
export function quantizedBytes(elements: number, quantization: Quantization): number {
  const { block, bytes } = QUANTIZATIONS[quantization];
  return (elements / block) * bytes;
}
