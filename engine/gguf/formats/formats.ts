import { QUANTIZATION_NAMES, QUANTIZATIONS, type Quantization, quantizedBytes } from '../../model/quantization.ts';
import type { BlockFormat } from './block-format.ts';
import { BF16, F16, F32 } from './floats.ts';
import { LARGEST_HALF } from './half.ts';
import { IQ4_NL, IQ4_XS } from './i-quants.ts';
import { Q2_K, Q3_K, Q4_K, Q5_K, Q6_K } from './k-quants.ts';
import { LATTICE_FORMATS } from './lattice-quants.ts';
import { Q4_0, Q4_1, Q5_0, Q5_1, Q8_0 } from './legacy-quants.ts';
import { MXFP4 } from './microscaling.ts';
import { TQ1_0, TQ2_0 } from './ternary-quants.ts';

/** How blocks of each format are decoded and encoded. Everything else about a format is in its row of QUANTIZATIONS. */
export const BLOCK_FORMATS: Readonly<Record<Quantization, BlockFormat>> = {
  F32,
  F16,
  BF16,
  Q8_0,
  Q4_0,
  Q4_1,
  Q5_0,
  Q5_1,
  Q2_K,
  Q3_K,
  Q4_K,
  Q5_K,
  Q6_K,
  IQ4_NL,
  IQ4_XS,
  MXFP4,
  TQ1_0,
  TQ2_0,
  ...LATTICE_FORMATS,
};

/**
 * Decodes weights to float32, bit by bit as ggml's reference does. Faster kernels are compared with this.
 * @param bytes whole blocks of `type`
 * @param out as many values as the blocks hold
 * @throws RangeError if the number of values doesn't match the bytes
 */
export function dequantize(type: Quantization, bytes: Uint8Array, out: Float32Array): void {
  const { block, bytes: blockBytes } = QUANTIZATIONS[type];
  if (bytes.length % blockBytes !== 0 || (bytes.length / blockBytes) * block !== out.length) {
    const held = `${bytes.length} bytes`;
    throw new RangeError(`${type}: ${held} don’t hold ${out.length} values; ${blockBytes} bytes hold ${block}`);
  }
  const { decode } = BLOCK_FORMATS[type];
  for (let at = 0, to = 0; at < bytes.length; at += blockBytes, to += block) decode(bytes, at, out, to);
}

/**
 * Encodes values as `type`. Scales are fitted by least squares; with weights, of several fits the one with the least
 * weighted squared error is chosen, which takes several times as long.
 * @param values whole blocks; finite, and within ±65,504 except for F32 and BF16
 * @param columnWeights what the squared error of each column of a row counts; values are whole rows
 * @returns the bytes of the blocks
 * @throws RangeError for a partial block or a value that the format can't hold
 */
export function quantize(type: Quantization, values: Float32Array, columnWeights?: Float32Array): Uint8Array {
  const { block, bytes: blockBytes } = QUANTIZATIONS[type];
  if (values.length % block !== 0)
    throw new RangeError(`${type}: ${values.length} values are not a whole number of blocks of ${block}`);
  const largest = type === 'F32' || type === 'BF16' ? Number.MAX_VALUE : LARGEST_HALF;
  for (let index = 0; index < values.length; index++) {
    if (!(Math.abs(values[index] as number) <= largest))
      throw new RangeError(`${type}: value ${index} is ${values[index]}; finite values up to ±${largest} are allowed`);
  }
  const bytes = new Uint8Array(quantizedBytes(values.length, type));
  const { encode } = BLOCK_FORMATS[type];
  for (let at = 0, from = 0; from < values.length; at += blockBytes, from += block) {
    const weights = columnWeights && { values: columnWeights, first: from % columnWeights.length };
    encode(values, from, bytes, at, weights);
  }
  return bytes;
}

const BY_FILE_NUMBER = new Map(QUANTIZATION_NAMES.map((name) => [QUANTIZATIONS[name].ggmlType as number, name]));

/** The format with this number in a file (ggml_type), or undefined if it isn't supported. */
export function formatByNumber(number: number): Quantization | undefined {
  return BY_FILE_NUMBER.get(number);
}

/** Formats that exist but aren't supported, so that messages can name them. */
const UNSUPPORTED: Readonly<Record<number, string>> = {
  9: 'Q8_1',
  15: 'Q8_K',
  24: 'I8',
  25: 'I16',
  26: 'I32',
  27: 'I64',
  28: 'F64',
};

/** An unsupported format's number for a message: `23 (IQ4_XS)`, or the bare number if its name is unknown. */
export function describeFormatNumber(number: number): string {
  const name = UNSUPPORTED[number];
  return name === undefined ? String(number) : `${number} (${name})`;
}
