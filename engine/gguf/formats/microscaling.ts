import type { BlockFormat } from './block-format.ts';
import { furthestFromZero } from './fit-scales.ts';

// The microscaling formats (OCP Microscaling Formats 1.0): the scale of a block is a power of two.

/** Twice the magnitudes of a number of two bits of exponent and one of fraction (E2M1); bit 3 of q is the sign. */
const MAGNITUDES = [0, 1, 2, 3, 4, 6, 8, 12] as const;

/** The steps of q that are tried: with the smaller one the value furthest from zero is above 12 of them, and is cut. */
const EXPONENTS_TRIED = 2;

/**
 * MXFP4: 32 values in 17 bytes, x = 2^(e − 128) times ± MAGNITUDES[q].
 * Byte 0: e (E8M0). Bytes 1–16: byte j holds q_j in its low and q_{j+16} in its high four bits.
 */
export const MXFP4: BlockFormat = {
  decode(bytes, at, out, to) {
    const step = 2 ** ((bytes[at] as number) - 128);
    for (let j = 0; j < 16; j++) {
      const pair = bytes[at + 1 + j] as number;
      out[to + j] = step * level(pair & 15);
      out[to + j + 16] = step * level(pair >>> 4);
    }
  },
  encode(values, from, bytes, at) {
    const largest = Math.abs(furthestFromZero(values, from, 32));
    // The least power of two of which twelve reach the value furthest from zero.
    const reaching = largest === 0 ? 0 : Math.ceil(Math.log2(largest / 12)) + 128;
    let [best, least] = [0, Number.POSITIVE_INFINITY];
    for (let exponent = reaching; exponent > reaching - EXPONENTS_TRIED; exponent--) {
      if (exponent < 0 || exponent > 255) continue;
      const error = squaredError(values, from, 2 ** (exponent - 128));
      if (error < least) [best, least] = [exponent, error];
    }
    const inverse = 2 ** (128 - best);
    bytes[at] = best;
    const quantOf = (index: number): number => nearest(inverse * (values[index] as number));
    for (let j = 0; j < 16; j++) bytes[at + 1 + j] = quantOf(from + j) | (quantOf(from + j + 16) << 4);
  },
};

function level(quant: number): number {
  const magnitude = MAGNITUDES[quant & 7] as number;
  return quant < 8 ? magnitude : 0 - magnitude;
}

/** The q whose level is nearest to `value`; the smaller magnitude of two that are equally near. */
function nearest(value: number): number {
  const magnitude = Math.abs(value);
  let index = 0;
  while (index < 7 && magnitude > ((MAGNITUDES[index] as number) + (MAGNITUDES[index + 1] as number)) / 2) index++;
  return value < 0 && index > 0 ? index + 8 : index;
}

function squaredError(values: Float32Array, from: number, step: number): number {
  let sum = 0;
  for (let index = from; index < from + 32; index++) {
    const value = values[index] as number;
    sum += (value - step * level(nearest(value / step))) ** 2;
  }
  return sum;
}
