import type { BlockFormat } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { encodeAffine } from './encode-affine.ts';
import { readOffset, readScale, writeScales } from './six-bit-scales.ts';

/**
 * Q5_K: 256 values in 176 bytes, 8 parts of 32, x = d s_p q − e o_p, q of five bits.
 * Bytes 0–1: d, f16. Bytes 2–3: e, f16. Bytes 4–15: s and o of six bits (six-bit-scales.ts). Bytes 16–47: bit p of byte
 * 16 + l is the fifth bit of q of value 32 p + l. Bytes 48–175: byte 48 + 32 h + l holds the lower four bits of value
 * 64 h + l in its low and of value 64 h + 32 + l in its high half.
 */
export const Q5_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at);
    const offset = readHalf(bytes, at + 2);
    for (let part = 0; part < 8; part++) {
      const step = scale * readScale(bytes, at + 4, part);
      const shift = offset * readOffset(bytes, at + 4, part);
      for (let l = 0; l < 32; l++) {
        const pair = bytes[at + 48 + 32 * (part >>> 1) + l] as number;
        const fifth = ((bytes[at + 16 + l] as number) >>> part) & 1;
        out[to + 32 * part + l] = step * ((part % 2 === 0 ? pair & 15 : pair >>> 4) + 16 * fifth) - shift;
      }
    }
  },
  encode(values, from, bytes, at) {
    const { scale, offset, scales, offsets, codes } = encodeAffine(values, from, { width: 32, levels: 31, most: 63 });
    bytes.fill(0, at, at + 176);
    writeHalf(bytes, at, scale);
    writeHalf(bytes, at + 2, offset);
    writeScales(bytes, at + 4, scales, offsets);
    for (let index = 0; index < 256; index++) {
      const [part, l, code] = [index >>> 5, index & 31, codes[index] as number];
      const low = at + 48 + 32 * (part >>> 1) + l;
      bytes[low] = (bytes[low] as number) | ((code & 15) << (part % 2 === 0 ? 0 : 4));
      bytes[at + 16 + l] = (bytes[at + 16 + l] as number) | ((code >>> 4) << part);
    }
  },
};
