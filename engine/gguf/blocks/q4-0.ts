import { type BlockFormat, roundWithin } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { extreme } from './extreme.ts';

/**
 * Q4_0: 32 values in 18 bytes, x = d (q − 8).
 * Bytes 0–1: d, f16. Bytes 2–17: byte j holds q_j in its low and q_{j+16} in its high four bits.
 * The scale takes the value furthest from zero to q = 0, the one side that reaches eight steps.
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
  encode(values, from, bytes, at) {
    const scale = writeHalf(bytes, at, extreme(values, from, 32) / -8);
    const inverse = scale === 0 ? 0 : 1 / scale;
    const quantize = (index: number): number => roundWithin(inverse * (values[index] as number), -8, 7) + 8;
    for (let j = 0; j < 16; j++) bytes[at + 2 + j] = quantize(from + j) | (quantize(from + j + 16) << 4);
  },
};
