import { type BlockFormat, roundWithin } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { extreme } from './extreme.ts';
import { readFiveBits, writeFiveBits } from './five-bits.ts';

/**
 * Q5_0: 32 values in 22 bytes, x = d (q − 16).
 * Bytes 0–1: d, f16. Bytes 2–21: q₀ … q₃₁ of five bits (five-bits.ts).
 */
export const Q5_0: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    for (let j = 0; j < 32; j++) out[to + j] = scale * (readFiveBits(bytes, at + 2, j) - 16);
  },
  encode(values, from, bytes, at) {
    const scale = writeHalf(bytes, at, extreme(values, from, 32) / -16);
    const inverse = scale === 0 ? 0 : 1 / scale;
    writeFiveBits(bytes, at + 2, (j) => roundWithin(inverse * (values[from + j] as number), -16, 15) + 16);
  },
};
