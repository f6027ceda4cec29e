import type { BlockFormat } from './block-format.ts';
import { fitSymmetric, furthestFromZero, roundWithin } from './fit-scales.ts';
import { readHalf, writeHalf } from './half.ts';

// The formats older than the K-quants: 32 values per block, with one scale and at most one minimum.

/**
 * Q8_0: 32 values in 34 bytes, x = d q.
 * Bytes 0–1: d, f16. Bytes 2–33: q₀ … q₃₁, signed bytes.
 */
export const Q8_0: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    for (let j = 0; j < 32; j++) out[to + j] = scale * (((bytes[at + 2 + j] as number) << 24) >> 24);
  },
  encode(values, from, bytes, at) {
    const scale = writeHalf(bytes, at, Math.abs(furthestFromZero(values, from, 32)) / 127);
    const inverse = scale === 0 ? 0 : 1 / scale;
    for (let j = 0; j < 32; j++) bytes[at + 2 + j] = roundWithin(inverse * (values[from + j] as number), -127, 127);
  },
};

/**
 * Q4_0: 32 values in 18 bytes, x = d (q − 8).
 * Bytes 0–1: d, f16. Bytes 2–17: byte j holds q_j in its low and q_{j+16} in its high four bits.
 * Without weights the scale maps the value furthest from zero to q = 0, the only side that reaches eight steps.
 */
export const Q4_0: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    for (let j = 0; j < 16; j++) {
      const pair = bytes[at + 2 + j] as number;
      out[to + j] = scale * ((pair & 15) - 8);
      out[to + j + 16] = scale * ((pair >>> 4) - 8);
    }
  },
  encode(values, from, bytes, at, weights) {
    const widest = furthestFromZero(values, from, 32) / -8;
    const scale = writeHalf(bytes, at, weights ? fitSymmetric(values, from, 32, 8, weights) : widest);
    const inverse = scale === 0 ? 0 : 1 / scale;
    const quantOf = (index: number): number => roundWithin(inverse * (values[index] as number), -8, 7) + 8;
    for (let j = 0; j < 16; j++) bytes[at + 2 + j] = quantOf(from + j) | (quantOf(from + j + 16) << 4);
  },
};

/**
 * Q4_1: 32 values in 20 bytes, x = d q + m.
 * Bytes 0–1: d, f16. Bytes 2–3: m, the smallest value, f16. Bytes 4–19: byte j holds q_j in its low and q_{j+16} in its
 * high four bits.
 */
export const Q4_1: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    const smallest = readHalf(bytes, at + 2);
    for (let j = 0; j < 16; j++) {
      const pair = bytes[at + 4 + j] as number;
      out[to + j] = scale * (pair & 15) + smallest;
      out[to + j + 16] = scale * (pair >>> 4) + smallest;
    }
  },
  encode(values, from, bytes, at) {
    const quantOf = writeRange(values, from, 15, bytes, at);
    for (let j = 0; j < 16; j++) bytes[at + 4 + j] = quantOf(j) | (quantOf(j + 16) << 4);
  },
};

/**
 * Q5_0: 32 values in 22 bytes, x = d (q − 16).
 * Bytes 0–1: d, f16. Bytes 2–21: q₀ … q₃₁ of five bits (readFiveBits).
 */
export const Q5_0: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    for (let j = 0; j < 32; j++) out[to + j] = scale * (readFiveBits(bytes, at + 2, j) - 16);
  },
  encode(values, from, bytes, at, weights) {
    const widest = furthestFromZero(values, from, 32) / -16;
    const scale = writeHalf(bytes, at, weights ? fitSymmetric(values, from, 32, 16, weights) : widest);
    const inverse = scale === 0 ? 0 : 1 / scale;
    writeFiveBits(bytes, at + 2, (j) => roundWithin(inverse * (values[from + j] as number), -16, 15) + 16);
  },
};

/**
 * Q5_1: 32 values in 24 bytes, x = d q + m.
 * Bytes 0–1: d, f16. Bytes 2–3: m, the smallest value, f16. Bytes 4–23: q₀ … q₃₁ of five bits (readFiveBits).
 */
export const Q5_1: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    const smallest = readHalf(bytes, at + 2);
    for (let j = 0; j < 32; j++) out[to + j] = scale * readFiveBits(bytes, at + 4, j) + smallest;
  },
  encode(values, from, bytes, at) {
    writeFiveBits(bytes, at + 4, writeRange(values, from, 31, bytes, at));
  },
};

/**
 * Writes d and m of 32 values, so that q goes from the smallest value to the largest.
 * @param levels largest q
 * @returns q_j for j = 0 … 31
 */
function writeRange(
  values: Float32Array,
  from: number,
  levels: number,
  bytes: Uint8Array,
  at: number,
): (j: number) => number {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (let j = 0; j < 32; j++) {
    low = Math.min(low, values[from + j] as number);
    high = Math.max(high, values[from + j] as number);
  }
  const smallest = writeHalf(bytes, at + 2, low);
  const scale = writeHalf(bytes, at, (high - smallest) / levels);
  const inverse = scale === 0 ? 0 : 1 / scale;
  return (j) => roundWithin(inverse * ((values[from + j] as number) - smallest), 0, levels);
}

/**
 * q_j of 32 numbers of five bits in 20 bytes, as Q5_0 and Q5_1 store them.
 * Bytes 0–3: bit j of this little-endian number is the fifth bit of q_j. Bytes 4–19: byte j holds the low four bits of
 * q_j in its low half and those of q_{j+16} in its high half.
 */
function readFiveBits(bytes: Uint8Array, at: number, j: number): number {
  const fifth = ((bytes[at + (j >>> 3)] as number) >>> (j & 7)) & 1;
  const low = ((bytes[at + 4 + (j & 15)] as number) >>> (j < 16 ? 0 : 4)) & 15;
  return low | (fifth << 4);
}

/** @param quantOf q_j for j = 0 … 31 */
function writeFiveBits(bytes: Uint8Array, at: number, quantOf: (j: number) => number): void {
  bytes.fill(0, at, at + 20);
  for (let j = 0; j < 32; j++) {
    const quant = quantOf(j);
    bytes[at + (j >>> 3)] = (bytes[at + (j >>> 3)] as number) | ((quant >>> 4) << (j & 7));
    bytes[at + 4 + (j & 15)] = (bytes[at + 4 + (j & 15)] as number) | ((quant & 15) << (j < 16 ? 0 : 4));
  }
}
