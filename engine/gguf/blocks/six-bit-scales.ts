/**
 * Eight scales and eight offsets of six bits in 12 bytes, as Q4_K and Q5_K have them. For j = 0 … 3:
 * byte j: s_j in bits 0–5, the upper two bits of s_{j+4} in bits 6–7;
 * byte j + 4: o_j in bits 0–5, the upper two bits of o_{j+4} in bits 6–7;
 * byte j + 8: the lower four bits of s_{j+4} in bits 0–3, those of o_{j+4} in bits 4–7.
 */
export function readScale(bytes: Uint8Array, at: number, j: number): number {
  if (j < 4) return (bytes[at + j] as number) & 63;
  return ((bytes[at + j + 4] as number) & 15) | (((bytes[at + j - 4] as number) >>> 6) << 4);
}

export function readOffset(bytes: Uint8Array, at: number, j: number): number {
  if (j < 4) return (bytes[at + j + 4] as number) & 63;
  return ((bytes[at + j + 4] as number) >>> 4) | (((bytes[at + j] as number) >>> 6) << 4);
}

export function writeScales(bytes: Uint8Array, at: number, scales: Uint8Array, offsets: Uint8Array): void {
  for (let j = 0; j < 4; j++) {
    const [scale, offset] = [scales[j + 4] as number, offsets[j + 4] as number];
    bytes[at + j] = (scales[j] as number) | ((scale >>> 4) << 6);
    bytes[at + j + 4] = (offsets[j] as number) | ((offset >>> 4) << 6);
    bytes[at + j + 8] = (scale & 15) | ((offset & 15) << 4);
  }
}
