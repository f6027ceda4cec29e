import type { BlockFormat } from './block-format.ts';
import { furthestFromZero } from './fit-scales.ts';
import { readHalf, writeHalf } from './half.ts';

// The I-quants: each q is an index into a table of levels.

/** The sixteen levels, closer together near zero (ggml, kvalues_iq4nl). */
const LEVELS = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113] as const;

/**
 * IQ4_NL: 32 values in 18 bytes, x = d LEVELS[q].
 * Bytes 0–1: d, f16. Bytes 2–17: byte j holds q_j in its low and q_{j+16} in its high four bits.
 * The encoder maps the value furthest from zero to the level −127, then refits the scale by least squares to the levels
 * that this chose.
 */
export const IQ4_NL: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    for (let j = 0; j < 16; j++) {
      const pair = bytes[at + 2 + j] as number;
      out[to + j] = scale * (LEVELS[pair & 15] as number);
      out[to + j + 16] = scale * (LEVELS[pair >>> 4] as number);
    }
  },
  encode(values, from, bytes, at) {
    const widest = furthestFromZero(values, from, 32) / LEVELS[0];
    let [products, squares] = [0, 0];
    for (let j = 0; j < 32 && widest !== 0; j++) {
      const value = values[from + j] as number;
      const level = LEVELS[nearestLevel(value / widest)] as number;
      products += value * level;
      squares += level * level;
    }
    const scale = writeHalf(bytes, at, squares === 0 ? 0 : products / squares);
    const quantOf = (index: number): number => nearestLevel(scale === 0 ? 0 : (values[index] as number) / scale);
    for (let j = 0; j < 16; j++) bytes[at + 2 + j] = quantOf(from + j) | (quantOf(from + j + 16) << 4);
  },
};

/** Index of the level nearest to `value`, by bisection; the lower of two that are equally near. */
function nearestLevel(value: number): number {
  let low = 0;
  let high = LEVELS.length - 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const border = ((LEVELS[middle] as number) + (LEVELS[middle + 1] as number)) / 2;
    if (value <= border) high = middle;
    else low = middle + 1;
  }
  return low;
}
