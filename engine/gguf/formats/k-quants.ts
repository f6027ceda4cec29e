import type { BlockFormat } from './block-format.ts';
import { encodeAffine, encodeSymmetric } from './fit-scales.ts';
import { readHalf, writeHalf } from './half.ts';

// The K-quants: 256 values per block in groups of 16 or 32, each with an integer scale s_g and, in some formats, an
// integer minimum m_g. d and e are the block's own scale and minimum.

/**
 * Q2_K: 256 values in 84 bytes, 16 groups of 16, x = d s_g q − e m_g.
 * Bytes 0–15: byte g holds s_g in its low and m_g in its high four bits. Bytes 16–79: q of two bits (twoBits).
 * Bytes 80–81: d, f16. Bytes 82–83: e, f16.
 */
export const Q2_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 80);
    const minimum = readHalf(bytes, at + 82);
    for (let index = 0; index < 256; index++) {
      const quant = ((bytes[at + 16 + twoBits.byte(index)] as number) >>> twoBits.shift(index)) & 3;
      const group = bytes[at + (index >>> 4)] as number;
      out[to + index] = scale * (group & 15) * quant - minimum * (group >>> 4);
    }
  },
  encode(values, from, bytes, at, weights) {
    const block = encodeAffine(values, from, { width: 16, levels: 3, most: 15 }, weights);
    bytes.fill(0, at, at + 84);
    for (let group = 0; group < 16; group++)
      bytes[at + group] = (block.scales[group] as number) | ((block.minimums[group] as number) << 4);
    for (let index = 0; index < 256; index++) {
      const place = at + 16 + twoBits.byte(index);
      bytes[place] = (bytes[place] as number) | ((block.quants[index] as number) << twoBits.shift(index));
    }
    writeHalf(bytes, at + 80, block.scale);
    writeHalf(bytes, at + 82, block.minimum);
  },
};

/**
 * Q3_K: 256 values in 110 bytes, 16 groups of 16, x = d (s_g − 32) (q − 4), q of three bits.
 * Bytes 0–31: the third bit of q; bit k of byte l is that of value 32 k + l. Bytes 32–95: the lower two bits (twoBits).
 * Bytes 96–107: s of six bits; the lower four of s_g are in byte 96 + g % 8, low half for g < 8, high half for the
 * others; the upper two are in byte 104 + g % 4, bits 2⌊g / 4⌋ and 2⌊g / 4⌋ + 1. Bytes 108–109: d, f16.
 */
export const Q3_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 108);
    for (let index = 0; index < 256; index++) {
      const low = ((bytes[at + 32 + twoBits.byte(index)] as number) >>> twoBits.shift(index)) & 3;
      const high = ((bytes[at + (index & 31)] as number) >>> (index >>> 5)) & 1;
      out[to + index] = scale * (readQ3Scale(bytes, at + 96, index >>> 4) - 32) * (low + 4 * high - 4);
    }
  },
  encode(values, from, bytes, at, weights) {
    const block = encodeSymmetric(values, from, { half: 4, halfScale: 32 }, weights);
    bytes.fill(0, at, at + 110);
    for (let index = 0; index < 256; index++) {
      const quant = (block.quants[index] as number) + 4;
      const place = at + 32 + twoBits.byte(index);
      bytes[place] = (bytes[place] as number) | ((quant & 3) << twoBits.shift(index));
      bytes[at + (index & 31)] = (bytes[at + (index & 31)] as number) | ((quant >>> 2) << (index >>> 5));
    }
    for (let group = 0; group < 16; group++) writeQ3Scale(bytes, at + 96, group, (block.scales[group] as number) + 32);
    writeHalf(bytes, at + 108, block.scale);
  },
};

/**
 * Q4_K: 256 values in 144 bytes, 8 groups of 32, x = d s_g q − e m_g.
 * Bytes 0–1: d, f16. Bytes 2–3: e, f16. Bytes 4–15: s and m of six bits (sixBits). Bytes 16–143: byte 16 + 32 h + l
 * holds the q of value 64 h + l in its low and of value 64 h + 32 + l in its high four bits.
 */
export const Q4_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    const minimum = readHalf(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const step = scale * sixBits.scale(bytes, at + 4, group);
      const shift = minimum * sixBits.minimum(bytes, at + 4, group);
      for (let l = 0; l < 32; l++) {
        const pair = bytes[at + 16 + 32 * (group >>> 1) + l] as number;
        out[to + 32 * group + l] = step * (group % 2 === 0 ? pair & 15 : pair >>> 4) - shift;
      }
    }
  },
  encode(values, from, bytes, at, weights) {
    const block = encodeAffine(values, from, { width: 32, levels: 15, most: 63 }, weights);
    writeHalf(bytes, at, block.scale);
    writeHalf(bytes, at + 2, block.minimum);
    sixBits.write(bytes, at + 4, block.scales, block.minimums);
    for (let byte = 0; byte < 128; byte++) {
      const index = 64 * (byte >>> 5) + (byte & 31);
      bytes[at + 16 + byte] = (block.quants[index] as number) | ((block.quants[index + 32] as number) << 4);
    }
  },
};

/**
 * Q5_K: 256 values in 176 bytes, 8 groups of 32, x = d s_g q − e m_g, q of five bits.
 * Bytes 0–1: d, f16. Bytes 2–3: e, f16. Bytes 4–15: s and m of six bits (sixBits). Bytes 16–47: bit g of byte 16 + l is
 * the fifth bit of q of value 32 g + l. Bytes 48–175: byte 48 + 32 h + l holds the lower four bits of value 64 h + l in
 * its low and those of value 64 h + 32 + l in its high half.
 */
export const Q5_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    const minimum = readHalf(bytes, at + 2);
    for (let group = 0; group < 8; group++) {
      const step = scale * sixBits.scale(bytes, at + 4, group);
      const shift = minimum * sixBits.minimum(bytes, at + 4, group);
      for (let l = 0; l < 32; l++) {
        const pair = bytes[at + 48 + 32 * (group >>> 1) + l] as number;
        const fifth = ((bytes[at + 16 + l] as number) >>> group) & 1;
        out[to + 32 * group + l] = step * ((group % 2 === 0 ? pair & 15 : pair >>> 4) + 16 * fifth) - shift;
      }
    }
  },
  encode(values, from, bytes, at, weights) {
    const block = encodeAffine(values, from, { width: 32, levels: 31, most: 63 }, weights);
    bytes.fill(0, at, at + 176);
    writeHalf(bytes, at, block.scale);
    writeHalf(bytes, at + 2, block.minimum);
    sixBits.write(bytes, at + 4, block.scales, block.minimums);
    for (let index = 0; index < 256; index++) {
      const [group, l, quant] = [index >>> 5, index & 31, block.quants[index] as number];
      const low = at + 48 + 32 * (group >>> 1) + l;
      bytes[low] = (bytes[low] as number) | ((quant & 15) << (group % 2 === 0 ? 0 : 4));
      bytes[at + 16 + l] = (bytes[at + 16 + l] as number) | ((quant >>> 4) << group);
    }
  },
};

/**
 * Q6_K: 256 values in 210 bytes, 16 groups of 16, x = d s_g (q − 32), q of six bits.
 * Value index i = 128 h + 32 k + l (h = 0, 1; k = 0 … 3; l = 0 … 31). Bytes 0–127: byte 64 h + 32 (k % 2) + l holds the
 * lower four bits of q, low half for k < 2, high half for the others. Bytes 128–191: the upper two bits (twoBits).
 * Bytes 192–207: s_g, signed bytes. Bytes 208–209: d, f16.
 */
export const Q6_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 208);
    for (let index = 0; index < 256; index++) {
      const low = ((bytes[at + fourBits.byte(index)] as number) >>> fourBits.shift(index)) & 15;
      const high = ((bytes[at + 128 + twoBits.byte(index)] as number) >>> twoBits.shift(index)) & 3;
      const groupScale = ((bytes[at + 192 + (index >>> 4)] as number) << 24) >> 24;
      out[to + index] = scale * groupScale * (low + 16 * high - 32);
    }
  },
  encode(values, from, bytes, at, weights) {
    const block = encodeSymmetric(values, from, { half: 32, halfScale: 128 }, weights);
    bytes.fill(0, at, at + 210);
    for (let index = 0; index < 256; index++) {
      const quant = (block.quants[index] as number) + 32;
      const [low, high] = [at + fourBits.byte(index), at + 128 + twoBits.byte(index)];
      bytes[low] = (bytes[low] as number) | ((quant & 15) << fourBits.shift(index));
      bytes[high] = (bytes[high] as number) | ((quant >>> 4) << twoBits.shift(index));
    }
    for (let group = 0; group < 16; group++) bytes[at + 192 + group] = block.scales[group] as number;
    writeHalf(bytes, at + 208, block.scale);
  },
};

/**
 * 256 numbers of two bits in 64 bytes, as Q2_K, Q3_K and Q6_K store them: byte 32 h + l holds those of values
 * 128 h + 32 k + l in bits 2k, 2k + 1 (h = 0, 1; l = 0 … 31; k = 0 … 3).
 */
const twoBits = {
  byte: (index: number): number => 32 * (index >>> 7) + (index & 31),
  shift: (index: number): number => 2 * ((index >>> 5) & 3),
};

/** Q6_K's lower four bits of 256 values in 128 bytes. */
const fourBits = {
  byte: (index: number): number => 64 * (index >>> 7) + (index & 63),
  shift: (index: number): number => 4 * ((index >>> 6) & 1),
};

/**
 * Eight scales and eight minimums of six bits in 12 bytes, as Q4_K and Q5_K store them. For j = 0 … 3:
 * byte j: s_j in bits 0–5, the upper two bits of s_{j+4} in bits 6–7;
 * byte j + 4: m_j in bits 0–5, the upper two bits of m_{j+4} in bits 6–7;
 * byte j + 8: the lower four bits of s_{j+4} in bits 0–3, those of m_{j+4} in bits 4–7.
 */
const sixBits = {
  scale(bytes: Uint8Array, at: number, j: number): number {
    if (j < 4) return (bytes[at + j] as number) & 63;
    return ((bytes[at + j + 4] as number) & 15) | (((bytes[at + j - 4] as number) >>> 6) << 4);
  },
  minimum(bytes: Uint8Array, at: number, j: number): number {
    if (j < 4) return (bytes[at + j + 4] as number) & 63;
    return ((bytes[at + j + 4] as number) >>> 4) | (((bytes[at + j] as number) >>> 6) << 4);
  },
  write(bytes: Uint8Array, at: number, scales: Uint8Array, minimums: Uint8Array): void {
    for (let j = 0; j < 4; j++) {
      const [scale, minimum] = [scales[j + 4] as number, minimums[j + 4] as number];
      bytes[at + j] = (scales[j] as number) | ((scale >>> 4) << 6);
      bytes[at + j + 4] = (minimums[j] as number) | ((minimum >>> 4) << 6);
      bytes[at + j + 8] = (scale & 15) | ((minimum & 15) << 4);
    }
  },
};

function readQ3Scale(bytes: Uint8Array, at: number, group: number): number {
  const low = ((bytes[at + (group & 7)] as number) >>> (group < 8 ? 0 : 4)) & 15;
  const high = ((bytes[at + 8 + (group & 3)] as number) >>> (2 * (group >>> 2))) & 3;
  return low | (high << 4);
}

function writeQ3Scale(bytes: Uint8Array, at: number, group: number, scale: number): void {
  const [low, high] = [at + (group & 7), at + 8 + (group & 3)];
  bytes[low] = (bytes[low] as number) | ((scale & 15) << (group < 8 ? 0 : 4));
  bytes[high] = (bytes[high] as number) | ((scale >>> 4) << (2 * (group >>> 2)));
}
