import { type BlockFormat, roundWithin } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { readFiveBits, writeFiveBits } from './five-bits.ts';

/**
 * Q5_1: 32 values in 24 bytes, x = d q + m.
 * Bytes 0–1: d, f16. Bytes 2–3: m, the least value, f16. Bytes 4–23: q₀ … q₃₁ of five bits (five-bits.ts).
 */
export const Q5_1: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    const least = readHalf(bytes, at + 2);
    for (let j = 0; j < 32; j++) out[to + j] = scale * readFiveBits(bytes, at + 4, j) + least;
  },
  encode(values, from, bytes, at) {
    let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (let j = 0; j < 32; j++) {
      low = Math.min(low, values[from + j] as number);
      high = Math.max(high, values[from + j] as number);
    }
    const least = writeHalf(bytes, at + 2, low);
    const scale = writeHalf(bytes, at, (high - least) / 31);
    const inverse = scale === 0 ? 0 : 1 / scale;
    writeFiveBits(bytes, at + 4, (j) => roundWithin(inverse * ((values[from + j] as number) - least), 0, 31));
  },
};
