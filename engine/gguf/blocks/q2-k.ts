import type { BlockFormat } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { encodeAffine } from './encode-affine.ts';

/**
 * Q2_K: 256 values in 84 bytes, 16 parts of 16, x = d s_p q − e o_p.
 * Bytes 0–15: byte p holds s_p in its low and o_p in its high four bits. Bytes 16–79: q of two bits; the byte
 * 16 + 32 h + l holds those of values 128 h + l + 32 k in bits 2k, 2k + 1 (h = 0, 1; l = 0 … 31; k = 0 … 3).
 * Bytes 80–81: d, f16. Bytes 82–83: e, f16.
 */
export const Q2_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 80);
    const offset = readHalf(bytes, at + 82);
    for (let index = 0; index < 256; index++) {
      const codes = bytes[at + lowByte(index)] as number;
      const part = bytes[at + (index >>> 4)] as number;
      out[to + index] = scale * (part & 15) * ((codes >>> lowShift(index)) & 3) - offset * (part >>> 4);
    }
  },
  encode(values, from, bytes, at) {
    const block = encodeAffine(values, from, { width: 16, levels: 3, most: 15 });
    bytes.fill(0, at, at + 84);
    for (let part = 0; part < 16; part++)
      bytes[at + part] = (block.scales[part] as number) | ((block.offsets[part] as number) << 4);
    for (let index = 0; index < 256; index++) {
      const place = at + lowByte(index);
      bytes[place] = (bytes[place] as number) | ((block.codes[index] as number) << lowShift(index));
    }
    writeHalf(bytes, at + 80, block.scale);
    writeHalf(bytes, at + 82, block.offset);
  },
};

/** Byte of the block that holds value `index`. */
function lowByte(index: number): number {
  return 16 + 32 * (index >>> 7) + (index & 31);
}

/** Bit of that byte at which it begins. */
function lowShift(index: number): number {
  return 2 * ((index >>> 5) & 3);
}
