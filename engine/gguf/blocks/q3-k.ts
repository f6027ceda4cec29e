import type { BlockFormat } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { encodeSymmetric } from './encode-symmetric.ts';

/**
 * Q3_K: 256 values in 110 bytes, 16 parts of 16, x = d (s_p − 32) (q − 4), q of three bits.
 * Bytes 0–31: the third bit of q; bit k of byte l is that of value 32 k + l. Bytes 32–95: the lower two bits; byte
 * 32 + 32 h + l holds those of values 128 h + l + 32 k in bits 2k, 2k + 1. Bytes 96–107: s of six bits; the lower four
 * of s_p are in byte 96 + p % 8, low half for p < 8, high half for the others; the upper two are in byte 104 + p % 4,
 * bits 2⌊p / 4⌋ and 2⌊p / 4⌋ + 1. Bytes 108–109: d, f16.
 */
export const Q3_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 108);
    for (let index = 0; index < 256; index++) {
      const low = ((bytes[at + lowByte(index)] as number) >>> lowShift(index)) & 3;
      const high = ((bytes[at + (index & 31)] as number) >>> (index >>> 5)) & 1;
      out[to + index] = scale * (readScale(bytes, at + 96, index >>> 4) - 32) * (low + 4 * high - 4);
    }
  },
  encode(values, from, bytes, at) {
    const block = encodeSymmetric(values, from, { half: 4, halfScale: 32 });
    bytes.fill(0, at, at + 110);
    for (let index = 0; index < 256; index++) {
      const code = (block.codes[index] as number) + 4;
      const place = at + lowByte(index);
      bytes[place] = (bytes[place] as number) | ((code & 3) << lowShift(index));
      bytes[at + (index & 31)] = (bytes[at + (index & 31)] as number) | ((code >>> 2) << (index >>> 5));
    }
    for (let part = 0; part < 16; part++) writeScale(bytes, at + 96, part, (block.scales[part] as number) + 32);
    writeHalf(bytes, at + 108, block.scale);
  },
};

function lowByte(index: number): number {
  return 32 + 32 * (index >>> 7) + (index & 31);
}

function lowShift(index: number): number {
  return 2 * ((index >>> 5) & 3);
}

function readScale(bytes: Uint8Array, at: number, part: number): number {
  const low = ((bytes[at + (part & 7)] as number) >>> (part < 8 ? 0 : 4)) & 15;
  const high = ((bytes[at + 8 + (part & 3)] as number) >>> (2 * (part >>> 2))) & 3;
  return low | (high << 4);
}

function writeScale(bytes: Uint8Array, at: number, part: number, scale: number): void {
  const [low, high] = [at + (part & 7), at + 8 + (part & 3)];
  bytes[low] = (bytes[low] as number) | ((scale & 15) << (part < 8 ? 0 : 4));
  bytes[high] = (bytes[high] as number) | ((scale >>> 4) << (2 * (part >>> 2)));
}
