import type { Quantization } from '../model/quantization.ts';

/** The numbers that stand for the formats in a file (ggml_type). */
export const TENSOR_TYPES: Readonly<Record<Quantization, number>> = {
  F32: 0,
  F16: 1,
  Q4_0: 2,
  Q5_0: 6,
  Q5_1: 7,
  Q8_0: 8,
  Q2_K: 10,
  Q3_K: 11,
  Q4_K: 12,
  Q5_K: 13,
  Q6_K: 14,
  IQ4_NL: 20,
  BF16: 30,
};

/** Formats that exist and are not supported, so that messages can name them. */
const OTHER_TYPES: Readonly<Record<number, string>> = {
  3: 'Q4_1',
  9: 'Q8_1',
  15: 'Q8_K',
  16: 'IQ2_XXS',
  17: 'IQ2_XS',
  18: 'IQ3_XXS',
  19: 'IQ1_S',
  21: 'IQ3_S',
  22: 'IQ2_S',
  23: 'IQ4_XS',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
  29: 'IQ1_M',
  34: 'TQ1_0',
  35: 'TQ2_0',
  39: 'MXFP4',
};

const BY_NUMBER = new Map(Object.entries(TENSOR_TYPES).map(([name, number]) => [number, name as Quantization]));

/** The format that a number stands for, or undefined. */
export function tensorType(number: number): Quantization | undefined {
  return BY_NUMBER.get(number);
}

/** How a message calls a number that is not supported: `23 (IQ4_XS)`, or the bare number. */
export function describeTensorType(number: number): string {
  const name = OTHER_TYPES[number];
  return name === undefined ? String(number) : `${number} (${name})`;
}
