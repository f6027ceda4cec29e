/**
 * A number format of weights. `block` values share `bytes` bytes (scales included).
 * Source: the block layouts of GGUF's reference implementation (ggml), public file-format facts.
 */
export interface QuantizationFormat {
  /** Values per block. */
  readonly block: number;
  /** Bytes per block. */
  readonly bytes: number;
  /** Whether a minimum is subtracted from (Q4_1, Q5_1: added to) the scaled numbers. */
  readonly hasMinimum: boolean;
  /** Number of the format in a GGUF file's list of tensors (ggml_type). */
  readonly ggmlType: number;
  /** Number of a whole file of this format in `general.file_type` (llama_ftype), where llama.cpp has one. */
  readonly fileType?: number;
}

/**
 * One row per format. A new format is a row here, and its functions in engine/gguf/formats and native/formats; tests
 * compare this table with the native one.
 */
export const QUANTIZATIONS = {
  F32: { block: 1, bytes: 4, hasMinimum: false, ggmlType: 0, fileType: 0 },
  F16: { block: 1, bytes: 2, hasMinimum: false, ggmlType: 1, fileType: 1 },
  BF16: { block: 1, bytes: 2, hasMinimum: false, ggmlType: 30, fileType: 32 },
  Q8_0: { block: 32, bytes: 34, hasMinimum: false, ggmlType: 8, fileType: 7 },
  Q4_0: { block: 32, bytes: 18, hasMinimum: false, ggmlType: 2, fileType: 2 },
  Q4_1: { block: 32, bytes: 20, hasMinimum: true, ggmlType: 3, fileType: 3 },
  Q5_0: { block: 32, bytes: 22, hasMinimum: false, ggmlType: 6, fileType: 8 },
  Q5_1: { block: 32, bytes: 24, hasMinimum: true, ggmlType: 7, fileType: 9 },
  Q2_K: { block: 256, bytes: 84, hasMinimum: true, ggmlType: 10, fileType: 10 },
  Q3_K: { block: 256, bytes: 110, hasMinimum: false, ggmlType: 11 },
  Q4_K: { block: 256, bytes: 144, hasMinimum: true, ggmlType: 12 },
  Q5_K: { block: 256, bytes: 176, hasMinimum: true, ggmlType: 13 },
  Q6_K: { block: 256, bytes: 210, hasMinimum: false, ggmlType: 14, fileType: 18 },
  IQ4_NL: { block: 32, bytes: 18, hasMinimum: false, ggmlType: 20, fileType: 25 },
  IQ4_XS: { block: 256, bytes: 136, hasMinimum: false, ggmlType: 23, fileType: 30 },
  MXFP4: { block: 32, bytes: 17, hasMinimum: false, ggmlType: 39 },
  TQ1_0: { block: 256, bytes: 54, hasMinimum: false, ggmlType: 34, fileType: 36 },
  TQ2_0: { block: 256, bytes: 66, hasMinimum: false, ggmlType: 35, fileType: 37 },
  IQ2_XXS: { block: 256, bytes: 66, hasMinimum: false, ggmlType: 16, fileType: 19 },
  IQ2_XS: { block: 256, bytes: 74, hasMinimum: false, ggmlType: 17, fileType: 20 },
  IQ2_S: { block: 256, bytes: 82, hasMinimum: false, ggmlType: 22, fileType: 28 },
  IQ3_XXS: { block: 256, bytes: 98, hasMinimum: false, ggmlType: 18, fileType: 23 },
  IQ3_S: { block: 256, bytes: 110, hasMinimum: false, ggmlType: 21, fileType: 26 },
  IQ1_S: { block: 256, bytes: 50, hasMinimum: false, ggmlType: 19, fileType: 24 },
  IQ1_M: { block: 256, bytes: 56, hasMinimum: false, ggmlType: 29, fileType: 31 },
} as const satisfies Record<string, QuantizationFormat>;

/** Number format of a tensor, as GGUF names it. */
export type Quantization = keyof typeof QUANTIZATIONS;

export const QUANTIZATION_NAMES = Object.keys(QUANTIZATIONS) as Quantization[];

/**
 * Bytes of `elements` values stored as `quantization`. Rows are whole blocks, so `elements` is a multiple of the block.
 */
export function quantizedBytes(elements: number, quantization: Quantization): number {
  const { block, bytes } = QUANTIZATIONS[quantization];
  return (elements / block) * bytes;
}
