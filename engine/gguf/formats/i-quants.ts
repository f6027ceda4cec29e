import type { BlockFormat } from './block-format.ts';
import { furthestFromZero, roundWithin } from './fit-scales.ts';
import { readHalf, writeHalf } from './half.ts';

// The I-quants: each q is an index into a table of levels.

/** The sixteen levels, closer together near zero (ggml, kvalues_iq4nl). */
const LEVELS = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113] as const;

/**
 * IQ4_NL: 32 values in 18 bytes, x = d LEVELS[q].
 * Bytes 0–1: d, f16. Bytes 2–17: byte j holds q_j in its low and q_{j+16} in its high four bits.
 */
export const IQ4_NL: BlockFormat = {
  decode(bytes, at, out, to) {
    decodeLevels(bytes, at + 2, readHalf(bytes, at), out, to);
  },
  encode(values, from, bytes, at) {
    encodeLevels(values, from, writeHalf(bytes, at, fitLevels(values, from)), bytes, at + 2);
  },
};

/**
 * IQ4_XS: 256 values in 136 bytes, x = d s_g LEVELS[q] with s from −32 to 31 in each of eight groups of 32.
 * Bytes 0–1: d, f16. Bytes 2–3: bits 2 g and 2 g + 1 of this number are the upper two of s_g + 32. Bytes 4–7: byte j
 * holds the lower four bits of s_{2j} + 32 in its low and those of s_{2j+1} + 32 in its high half. Bytes 8–135: the
 * groups one after another, each as in IQ4_NL.
 */
export const IQ4_XS: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    for (let group = 0; group < 8; group++) {
      const low = ((bytes[at + 4 + (group >>> 1)] as number) >>> (4 * (group & 1))) & 15;
      const high = ((bytes[at + 2 + (group >>> 2)] as number) >>> (2 * (group & 3))) & 3;
      const step = scale * ((low | (high << 4)) - 32);
      decodeLevels(bytes, at + 8 + 16 * group, step, out, to + 32 * group);
    }
  },
  encode(values, from, bytes, at) {
    const fits = Float32Array.from({ length: 8 }, (_, group) => fitLevels(values, from + 32 * group));
    const scale = writeHalf(bytes, at, furthestFromZero(fits, 0, 8) / -32);
    bytes.fill(0, at + 2, at + 8);
    for (let group = 0; group < 8; group++) {
      const groupScale = scale === 0 ? 0 : roundWithin((fits[group] as number) / scale, -32, 31);
      const [high, low] = [at + 2 + (group >>> 2), at + 4 + (group >>> 1)];
      bytes[high] = (bytes[high] as number) | (((groupScale + 32) >>> 4) << (2 * (group & 3)));
      bytes[low] = (bytes[low] as number) | (((groupScale + 32) & 15) << (4 * (group & 1)));
      encodeLevels(values, from + 32 * group, scale * groupScale, bytes, at + 8 + 16 * group);
    }
  },
};

/** 32 values of one step from 16 bytes: byte j holds q_j in its low and q_{j+16} in its high four bits. */
function decodeLevels(bytes: Uint8Array, at: number, step: number, out: Float32Array, to: number): void {
  for (let j = 0; j < 16; j++) {
    const pair = bytes[at + j] as number;
    out[to + j] = step * (LEVELS[pair & 15] as number);
    out[to + j + 16] = step * (LEVELS[pair >>> 4] as number);
  }
}

function encodeLevels(values: Float32Array, from: number, step: number, bytes: Uint8Array, at: number): void {
  const quantOf = (index: number): number => nearestLevel(step === 0 ? 0 : (values[index] as number) / step);
  for (let j = 0; j < 16; j++) bytes[at + j] = quantOf(from + j) | (quantOf(from + j + 16) << 4);
}

/**
 * The step for 32 values: maps the value furthest from zero to the level −127, then refits by least squares to the
 * levels that this chose.
 */
function fitLevels(values: Float32Array, from: number): number {
  const widest = furthestFromZero(values, from, 32) / LEVELS[0];
  let [products, squares] = [0, 0];
  for (let j = 0; j < 32 && widest !== 0; j++) {
    const value = values[from + j] as number;
    const level = LEVELS[nearestLevel(value / widest)] as number;
    products += value * level;
    squares += level * level;
  }
  return squares === 0 ? 0 : products / squares;
}

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
