import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../model/quantization.ts';
import { BLOCK_FORMATS } from './block-formats.ts';
import { LARGEST_HALF } from './half.ts';

/**
 * Encodes values as `type`. Scales fit least squares, without the wider search of llama.cpp's quantizer and without
 * importances: good enough for models whose weights are random, and for tests.
 * @param values whole blocks; finite, and except for F32 and BF16 within ±65,504
 * @returns the bytes of the blocks
 * @throws RangeError for a part of a block or a value that can't be encoded
 */
export function quantize(type: Quantization, values: Float32Array): Uint8Array {
  const { block, bytes: blockBytes } = QUANTIZATIONS[type];
  if (values.length % block !== 0)
    throw new RangeError(`${type}: ${values.length} values are no whole number of blocks of ${block}`);
  const largest = type === 'F32' || type === 'BF16' ? Number.MAX_VALUE : LARGEST_HALF;
  for (let index = 0; index < values.length; index++) {
    if (!(Math.abs(values[index] as number) <= largest))
      throw new RangeError(`${type}: value ${index} is ${values[index]}; finite values up to ±${largest} are allowed`);
  }
  const bytes = new Uint8Array(quantizedBytes(values.length, type));
  const { encode } = BLOCK_FORMATS[type];
  for (let at = 0, from = 0; from < values.length; at += blockBytes, from += block) encode(values, from, bytes, at);
  return bytes;
}
