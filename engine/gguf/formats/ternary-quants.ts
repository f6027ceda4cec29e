import type { BlockFormat } from './block-format.ts';
import { readHalf, writeHalf } from './half.ts';

// The ternary formats: 256 values of −d, 0 and d.

/** Rounds of choosing −1, 0 or 1 and refitting d; values that are −d, 0 and d take one. */
const ROUNDS = 4;

/**
 * TQ1_0: 256 values in 54 bytes, x = d (q − 1) with q from 0 to 2, five of them in a byte: the byte times 3ⁿ, of which
 * the lower eight bits stay, times 3, divided by 256 is the n-th.
 * Bytes 0–31: byte j holds q_{32 n + j} for n = 0 … 4. Bytes 32–47: byte 32 + j holds q_{160 + 16 n + j}. Bytes 48–51:
 * byte 48 + j holds q_{240 + 4 n + j} for n = 0 … 3. Bytes 52–53: d, f16.
 */
export const TQ1_0: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 52);
    for (const { first, width, count, value } of FIVES) {
      for (let j = 0; j < width; j++) {
        let rest = bytes[at + first + j] as number;
        for (let n = 0; n < count; n++) {
          out[to + value + width * n + j] = scale * (((3 * rest) >>> 8) - 1);
          rest = (3 * rest) & 255;
        }
      }
    }
  },
  encode(values, from, bytes, at) {
    const scale = writeHalf(bytes, at + 52, fitTernary(values, from));
    for (const { first, width, count, value } of FIVES) {
      for (let j = 0; j < width; j++) {
        let digits = 0;
        for (let n = 0; n < 5; n++) {
          digits = 3 * digits + (n < count ? ternaryOf(values[from + value + width * n + j] as number, scale) : 0);
        }
        // Rounded up, so that the digits are found again.
        bytes[at + first + j] = Math.floor((256 * digits + 242) / 243);
      }
    }
  },
};

/** Bytes from `first` on, `width` of them, with `count` values each; the first value is `value`. */
const FIVES = [
  { first: 0, width: 32, count: 5, value: 0 },
  { first: 32, width: 16, count: 5, value: 160 },
  { first: 48, width: 4, count: 4, value: 240 },
] as const;

/**
 * TQ2_0: 256 values in 66 bytes, x = d (q − 1) with q of two bits.
 * Bytes 0–63: for h = 0, 1, byte 32 h + l holds q_{128 h + 32 k + l} in bits 2 k and 2 k + 1 for k = 0 … 3. Bytes
 * 64–65: d, f16.
 */
export const TQ2_0: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 64);
    for (let index = 0; index < 256; index++) {
      const byte = bytes[at + 32 * (index >>> 7) + (index & 31)] as number;
      out[to + index] = scale * (((byte >>> (2 * ((index >>> 5) & 3))) & 3) - 1);
    }
  },
  encode(values, from, bytes, at) {
    const scale = writeHalf(bytes, at + 64, fitTernary(values, from));
    bytes.fill(0, at, at + 64);
    for (let index = 0; index < 256; index++) {
      const place = at + 32 * (index >>> 7) + (index & 31);
      const quant = ternaryOf(values[from + index] as number, scale);
      bytes[place] = (bytes[place] as number) | (quant << (2 * ((index >>> 5) & 3)));
    }
  },
};

/** The nearest of −d, 0 and d, as 0, 1 or 2. */
function ternaryOf(value: number, scale: number): number {
  if (Math.abs(value) <= scale / 2) return 1;
  return value < 0 ? 0 : 2;
}

/** d of 256 values: from the mean of those that aren't zero, alternates choosing and the mean of those chosen. */
function fitTernary(values: Float32Array, from: number): number {
  let scale = 0;
  for (let round = 0; round < ROUNDS; round++) {
    let [sum, count] = [0, 0];
    for (let index = from; index < from + 256; index++) {
      const size = Math.abs(values[index] as number);
      if (size <= scale / 2) continue;
      sum += size;
      count++;
    }
    if (count === 0) break;
    scale = sum / count;
  }
  return scale;
}
