/**
 * 32 numbers of five bits in 20 bytes, as Q5_0 and Q5_1 have them.
 * Bytes 0–3: bit j of this little-endian number is the fifth bit of q_j. Bytes 4–19: byte j holds the low four bits of
 * q_j in its low and of q_{j+16} in its high half.
 */
export function readFiveBits(bytes: Uint8Array, at: number, j: number): number {
  const fifth = ((bytes[at + (j >>> 3)] as number) >>> (j & 7)) & 1;
  const low = ((bytes[at + 4 + (j & 15)] as number) >>> (j < 16 ? 0 : 4)) & 15;
  return low | (fifth << 4);
}

/** @param quantize q_j for j = 0 … 31 */
export function writeFiveBits(bytes: Uint8Array, at: number, quantize: (j: number) => number): void {
  bytes.fill(0, at, at + 20);
  for (let j = 0; j < 32; j++) {
    const value = quantize(j);
    bytes[at + (j >>> 3)] = (bytes[at + (j >>> 3)] as number) | ((value >>> 4) << (j & 7));
    bytes[at + 4 + (j & 15)] = (bytes[at + 4 + (j & 15)] as number) | ((value & 15) << (j < 16 ? 0 : 4));
  }
}
