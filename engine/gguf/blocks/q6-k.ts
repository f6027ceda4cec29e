import type { BlockFormat } from '../block-format.ts';
import { readHalf, writeHalf } from '../half.ts';
import { encodeSymmetric } from './encode-symmetric.ts';

/**
 * Q6_K: 256 values in 210 bytes, 16 parts of 16, x = d s_p (q − 32), q of six bits.
 * Value index i = 128 h + 32 k + l (h = 0, 1; k = 0 … 3; l = 0 … 31). Bytes 0–127: byte 64 h + 32 (k % 2) + l holds the
 * lower four bits of q, low half for k < 2, high half for the others. Bytes 128–191: byte 128 + 32 h + l holds the upper
 * two bits in bits 2k, 2k + 1. Bytes 192–207: s_p, signed bytes. Bytes 208–209: d, f16.
 */
export const Q6_K: BlockFormat = {
  decode(bytes, at, out, to) {
    const scale = readHalf(bytes, at + 208);
    for (let index = 0; index < 256; index++) {
      const low = ((bytes[at + lowByte(index)] as number) >>> lowShift(index)) & 15;
      const high = ((bytes[at + highByte(index)] as number) >>> highShift(index)) & 3;
      const part = ((bytes[at + 192 + (index >>> 4)] as number) << 24) >> 24;
      out[to + index] = scale * part * (low + 16 * high - 32);
    }
  },
  encode(values, from, bytes, at) {
    const block = encodeSymmetric(values, from, { half: 32, halfScale: 128 });
    bytes.fill(0, at, at + 210);
    for (let index = 0; index < 256; index++) {
      const code = (block.codes[index] as number) + 32;
      const [low, high] = [at + lowByte(index), at + highByte(index)];
      bytes[low] = (bytes[low] as number) | ((code & 15) << lowShift(index));
      bytes[high] = (bytes[high] as number) | ((code >>> 4) << highShift(index));
    }
    for (let part = 0; part < 16; part++) bytes[at + 192 + part] = block.scales[part] as number;
    writeHalf(bytes, at + 208, block.scale);
  },
};

function lowByte(index: number): number {
  return 64 * (index >>> 7) + (index & 63);
}

function lowShift(index: number): number {
  return 4 * ((index >>> 6) & 1);
}

function highByte(index: number): number {
  return 128 + 32 * (index >>> 7) + (index & 31);
}

function highShift(index: number): number {
  return 2 * ((index >>> 5) & 3);
}
