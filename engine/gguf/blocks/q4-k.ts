import type { BlockFormat } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { encodeAffine } from './encode-affine.ts';
import { readOffset, readScale, writeScales } from './six-bit-scales.ts';

/**
 * Q4_K: 256 values in 144 bytes, 8 parts of 32, x = d s_p q − e o_p.
 * Bytes 0–1: d, f16. Bytes 2–3: e, f16. Bytes 4–15: s and o of six bits (six-bit-scales.ts). Bytes 16–143: byte
 * 16 + 32 h + l holds the q of value 64 h + l in its low and of value 64 h + 32 + l in its high four bits.
 */
export const Q4_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    const offset = readHalf(bytes, at + 2);
    for (let part = 0; part < 8; part++) {
      const step = scale * readScale(bytes, at + 4, part);
      const shift = offset * readOffset(bytes, at + 4, part);
      for (let l = 0; l < 32; l++) {
        const pair = bytes[at + 16 + 32 * (part >>> 1) + l] as number;
        out[to + 32 * part + l] = step * (part % 2 === 0 ? pair & 15 : pair >>> 4) - shift;
      }
    }
  },
  encode(values, from, bytes, at) {
    const { scale, offset, scales, offsets, codes } = encodeAffine(values, from, { width: 32, levels: 15, most: 63 });
    writeHalf(bytes, at, scale);
    writeHalf(bytes, at + 2, offset);
    writeScales(bytes, at + 4, scales, offsets);
    for (let byte = 0; byte < 128; byte++) {
      const index = 64 * (byte >>> 5) + (byte & 31);
      bytes[at + 16 + byte] = (codes[index] as number) | ((codes[index + 32] as number) << 4);
    }
  },
};
