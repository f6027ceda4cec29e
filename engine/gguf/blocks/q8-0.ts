import { type BlockFormat, roundWithin } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { extreme } from './extreme.ts';

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
    const scale = writeHalf(bytes, at, Math.abs(extreme(values, from, 32)) / 127);
    const inverse = scale === 0 ? 0 : 1 / scale;
    for (let j = 0; j < 32; j++) bytes[at + 2 + j] = roundWithin(inverse * (values[from + j] as number), -127, 127);
  },
};
