import { floatToBf16, floatToHalf } from '../../engine/gguf/formats/half.ts';
import { QUANTIZATIONS, type Quantization, quantizedBytes } from '../../engine/model/quantization.ts';

/** Offsets of a block's half-precision scale and minimum. */
const SCALES: Partial<Record<Quantization, readonly number[]>> = {
  Q8_0: [0],
  Q4_0: [0],
  Q4_1: [0, 2],
  Q5_0: [0],
  Q5_1: [0, 2],
  Q2_K: [80, 82],
  Q3_K: [108],
  Q4_K: [0, 2],
  Q5_K: [0, 2],
  Q6_K: [208],
  IQ4_NL: [0],
  IQ4_XS: [0],
  TQ1_0: [52],
  TQ2_0: [64],
  IQ2_XXS: [0],
  IQ2_XS: [0],
  IQ2_S: [0],
  IQ3_XXS: [0],
  IQ3_S: [0],
  IQ1_S: [0],
};
/** Scales and minima, with which sums stay exact. */
const FACTORS = [1, -1, 0.5, -0.5].map(floatToHalf);

/**
 * Weights whose values are whole or half numbers, of lattices sixteenths or eighths: random blocks, each with a scale
 * and a minimum of 1 or ½ and a sign of its own, or random numbers from −8 to 8.
 */
export function wholeNumberRows(type: Quantization, count: number, random: () => number): Uint8Array {
  const bytes = Uint8Array.from({ length: quantizedBytes(count, type) }, () => Math.floor(256 * random()));
  const view = new DataView(bytes.buffer);
  const factor = (): number => FACTORS[Math.floor(FACTORS.length * random())] as number;
  const small = (): number => Math.floor(17 * random()) - 8;
  for (let i = 0; i < count / QUANTIZATIONS[type].block; i++) {
    const at = i * QUANTIZATIONS[type].bytes;
    if (type === 'F32') view.setFloat32(at, small(), true);
    if (type === 'F16') view.setUint16(at, floatToHalf(small()), true);
    if (type === 'BF16') view.setUint16(at, floatToBf16(small()), true);
    // A power of two, of which levels are doubled.
    if (type === 'MXFP4') view.setUint8(at, 127 + Math.floor(2 * random()));
    // Four bits in each of four numbers.
    const digits = factor();
    for (let part = 0; part < 4 && type === 'IQ1_M'; part++) {
      const place = at + 49 + 2 * part;
      bytes[place] = ((bytes[place] as number) & 15) | (((digits >>> (4 * part)) & 15) << 4);
    }
    for (const place of SCALES[type] ?? []) view.setUint16(at + place, factor(), true);
  }
  return bytes;
}

/** Whole numbers from −3 to 3 with one 127 in every 32: rounding to 15 bits leaves them unchanged. */
export function wholeNumberActivations(count: number, random: () => number): number[] {
  return Array.from({ length: count }, (_, i) => (i % 32 === 7 ? 127 : Math.floor(7 * random()) - 3));
}
