import type { BlockFormat } from './block-format.ts';
import { type ChosenPoints, choosePoints, createChosenPoints, fitLattice } from './fit-lattice.ts';
import { roundWithin } from './fit-scales.ts';
import { readHalf, writeHalf } from './half.ts';
import { LATTICES, type Lattice } from './lattices.ts';

// The I-quants of less than four bits: several values are a point of a lattice, stored as its number. A block has 256
// values in groups of 16 or 32: x = d unit (2 s_g + 1) v, where v is a value of a point, with a sign of its own or, in
// IQ1_S and IQ1_M, moved by an eighth. All products are exact in single precision, in any order.

/** Numbers of some bits in a block, one for each of its points, groups or eights of values. Bits count from bit 0. */
export interface Bits {
  readonly count: number;
  /** First bit of number 0. */
  readonly first: number;
  /** From one number to the next; if `every` is given, from the first of this many numbers to that of the next ones. */
  readonly step: number;
  /** A power of two. */
  readonly every?: number;
  /** Between numbers of which `every` are together. */
  readonly inner?: number;
}

/** Layout of a block as decoders read it, in TypeScript and in shaders. */
export interface LatticeLayout {
  /** Bytes of a block. */
  readonly size: number;
  readonly lattice: Lattice;
  readonly unit: number;
  /** Values that share a scale. */
  readonly width: 16 | 32;
  /** Scale s of group g. */
  readonly scale: Bits;
  /** Number of point p: its lower eight bits, and the higher ones. */
  readonly low: Bits;
  readonly high?: Bits;
  /** Signs of eight values, of which seven are stored if the number of negative ones is even. */
  readonly signs?: Bits;
  /** Whether `width` values are moved down by an eighth, not up. */
  readonly shift?: { readonly width: 8 | 32; readonly down: Bits };
  /** The four parts of d, the lowest first, where it isn't the f16 at the beginning. */
  readonly d?: Bits;
}

export const LATTICE_LAYOUTS = {
  /**
   * IQ2_XXS: 66 bytes, 256 points of 8 values, unit 1/8. Bytes 0–1: d. Eight groups of 32 in 8 bytes each: four numbers
   * of points, then 32 bits: four times seven signs, and s.
   */
  IQ2_XXS: {
    size: 66,
    lattice: LATTICES.IQ2_XXS,
    unit: 1 / 8,
    width: 32,
    scale: { count: 4, first: 16 + 60, step: 64 },
    low: { count: 8, first: 16, step: 64, every: 4, inner: 8 },
    signs: { count: 7, first: 16 + 32, step: 64, every: 4, inner: 7 },
  },
  /**
   * IQ2_XS: 74 bytes, 512 points of 8 values, unit 1/8. Bytes 0–1: d. Bytes 2–65: 16 bits a point, nine of its number
   * and seven signs. Bytes 66–73: s of sixteen groups of 16, four bits each.
   */
  IQ2_XS: {
    size: 74,
    lattice: LATTICES.IQ2_XS,
    unit: 1 / 8,
    width: 16,
    scale: { count: 4, first: 8 * 66, step: 4 },
    low: { count: 8, first: 16, step: 16 },
    high: { count: 1, first: 16 + 8, step: 16 },
    signs: { count: 7, first: 16 + 9, step: 16 },
  },
  /**
   * IQ2_S: 82 bytes, 1024 points of 8 values, unit 1/8. Bytes 0–1: d. Bytes 2–33: the lower bits of points' numbers.
   * Bytes 34–65: signs. Bytes 66–73: the higher two bits. Bytes 74–81: s of sixteen groups of 16, four bits each.
   */
  IQ2_S: {
    size: 82,
    lattice: LATTICES.IQ2_S,
    unit: 1 / 8,
    width: 16,
    scale: { count: 4, first: 8 * 74, step: 4 },
    low: { count: 8, first: 16, step: 8 },
    high: { count: 2, first: 8 * 66, step: 2 },
    signs: { count: 8, first: 8 * 34, step: 8 },
  },
  /**
   * IQ3_XXS: 98 bytes, 256 points of 4 values, unit 1/4. Bytes 0–1: d. Bytes 2–65: the points' numbers. Bytes 66–97: 32
   * bits for each of eight groups of 32: four times seven signs, and s.
   */
  IQ3_XXS: {
    size: 98,
    lattice: LATTICES.IQ3_XXS,
    unit: 1 / 4,
    width: 32,
    scale: { count: 4, first: 8 * 66 + 28, step: 32 },
    low: { count: 8, first: 16, step: 8 },
    signs: { count: 7, first: 8 * 66, step: 32, every: 4, inner: 7 },
  },
  /**
   * IQ3_S: 110 bytes, 512 points of 4 values, unit 1. Bytes 0–1: d. Bytes 2–65: the lower bits of the points' numbers.
   * Bytes 66–73: their ninth bits. Bytes 74–105: signs. Bytes 106–109: s of eight groups of 32, four bits each.
   */
  IQ3_S: {
    size: 110,
    lattice: LATTICES.IQ3_S,
    unit: 1,
    width: 32,
    scale: { count: 4, first: 8 * 106, step: 4 },
    low: { count: 8, first: 16, step: 8 },
    high: { count: 1, first: 8 * 66, step: 1 },
    signs: { count: 8, first: 8 * 74, step: 8 },
  },
  /**
   * IQ1_S: 50 bytes, 2048 points of 8 values, unit 1/8. Bytes 0–1: d. Bytes 2–33: the lower bits of the points' numbers.
   * Bytes 34–49: 16 bits for each of eight groups of 32: four times the higher three bits, s of three bits, and whether
   * values are moved down.
   */
  IQ1_S: {
    size: 50,
    lattice: LATTICES.IQ1,
    unit: 1 / 8,
    width: 32,
    scale: { count: 3, first: 8 * 34 + 12, step: 16 },
    low: { count: 8, first: 16, step: 8 },
    high: { count: 3, first: 8 * 34, step: 16, every: 4, inner: 3 },
    shift: { width: 32, down: { count: 1, first: 8 * 34 + 15, step: 16 } },
  },
  /**
   * IQ1_M: 56 bytes, 2048 points of 8 values, unit 1/8. Bytes 0–31: the lower bits of the points' numbers. Bytes 32–47:
   * four bits a point: the higher three, and whether its values are moved down. Bytes 48–55: four times 16 bits: s of
   * four groups of 16, three bits each, and four bits of d, the lowest first.
   */
  IQ1_M: {
    size: 56,
    lattice: LATTICES.IQ1,
    unit: 1 / 8,
    width: 16,
    scale: { count: 3, first: 8 * 48, step: 16, every: 4, inner: 3 },
    low: { count: 8, first: 0, step: 8 },
    high: { count: 3, first: 8 * 32, step: 4 },
    shift: { width: 8, down: { count: 1, first: 8 * 32 + 3, step: 4 } },
    d: { count: 4, first: 8 * 48 + 12, step: 16 },
  },
} as const satisfies Record<string, LatticeLayout>;

export const LATTICE_FORMATS = {
  IQ2_XXS: latticeFormat(LATTICE_LAYOUTS.IQ2_XXS),
  IQ2_XS: latticeFormat(LATTICE_LAYOUTS.IQ2_XS),
  IQ2_S: latticeFormat(LATTICE_LAYOUTS.IQ2_S),
  IQ3_XXS: latticeFormat(LATTICE_LAYOUTS.IQ3_XXS),
  IQ3_S: latticeFormat(LATTICE_LAYOUTS.IQ3_S),
  IQ1_S: latticeFormat(LATTICE_LAYOUTS.IQ1_S),
  IQ1_M: latticeFormat(LATTICE_LAYOUTS.IQ1_M),
} as const satisfies Record<keyof typeof LATTICE_LAYOUTS, BlockFormat>;

function latticeFormat(layout: LatticeLayout): BlockFormat {
  const { size, lattice, unit, width, scale, low, high, signs, shift, d } = layout;
  const levelWidth = lattice.width;
  const readScale = (bytes: Uint8Array, at: number): number => {
    if (d === undefined) return readHalf(bytes, at);
    const half = new Uint8Array(2);
    for (let part = 0; part < 4; part++) writeBits(half, 4 * part, 4, readBits(bytes, 8 * at + bitOf(d, part), 4));
    return readHalf(half, 0);
  };
  const writeScale = (bytes: Uint8Array, at: number, value: number): number => {
    if (d === undefined) return writeHalf(bytes, at, value);
    const half = new Uint8Array(2);
    const written = writeHalf(half, 0, value);
    for (let part = 0; part < 4; part++) writeBits(bytes, 8 * at + bitOf(d, part), 4, readBits(half, 4 * part, 4));
    return written;
  };
  return {
    decode(bytes, at, out, to) {
      const first = 8 * at;
      const steps = readScale(bytes, at) * unit;
      for (let point = 0; point < 256 / levelWidth; point++) {
        const begin = levelWidth * point;
        const upper = high === undefined ? 0 : readBits(bytes, first + bitOf(high, point), high.count);
        const number = readBits(bytes, first + bitOf(low, point), 8) | (upper << 8);
        const s = readBits(bytes, first + bitOf(scale, Math.floor(begin / width)), scale.count);
        const step = steps * (2 * s + 1);
        const negative = signs === undefined ? 0 : readSigns(bytes, first + bitOf(signs, begin >>> 3), signs.count);
        const moved =
          shift === undefined
            ? 0
            : 1 - 2 * readBits(bytes, first + bitOf(shift.down, Math.floor(begin / shift.width)), 1);
        for (let j = 0; j < levelWidth; j++) {
          const level = (lattice.points[levelWidth * number + j] as number) + moved;
          out[to + begin + j] = step * ((negative >>> ((begin + j) & 7)) & 1 ? -level : level);
        }
      }
    },
    encode(values, from, bytes, at) {
      bytes.fill(0, at, at + size);
      const first = 8 * at;
      const options = {
        lattice,
        signs: signs === undefined ? 'none' : signs.count === 7 ? 'even' : 'any',
        shiftWidth: shift?.width ?? 0,
      } as const;
      const fits = new Float64Array(256 / width);
      for (let group = 0; group < fits.length; group++) {
        fits[group] = fitLattice(values, from + width * group, width, options);
      }
      const most = 2 ** (scale.count + 1) - 1;
      const steps = writeScale(bytes, at, Math.max(...fits) / most / unit) * unit;
      if (steps === 0) return;
      for (const [group, fit] of fits.entries()) {
        const s = roundWithin((fit / steps - 1) / 2, 0, (most - 1) / 2);
        writeBits(bytes, first + bitOf(scale, group), scale.count, s);
        choosePoints(values, from + width * group, width, steps * (2 * s + 1), options, CHOSEN);
        write(bytes, first, width * group, CHOSEN);
      }
    },
  };

  /** Writes the points of the group of values that begins at `begin`. */
  function write(bytes: Uint8Array, first: number, begin: number, chosen: ChosenPoints): void {
    for (let value = begin; value < begin + width; value += levelWidth) {
      const point = value / levelWidth;
      const number = chosen.points[(value - begin) / levelWidth] as number;
      writeBits(bytes, first + bitOf(low, point), 8, number & 255);
      if (high !== undefined) writeBits(bytes, first + bitOf(high, point), high.count, number >>> 8);
    }
    for (let value = begin; value < begin + width && signs !== undefined; value += 8) {
      const negative = chosen.signs[(value - begin) / 8] as number;
      writeBits(bytes, first + bitOf(signs, value / 8), signs.count, negative);
    }
    for (let value = begin; value < begin + width && shift !== undefined; value += shift.width) {
      const down = chosen.down[(value - begin) / shift.width] as number;
      writeBits(bytes, first + bitOf(shift.down, value / shift.width), 1, down);
    }
  }
}

/** First bit of number `index`. */
function bitOf({ first, step, every = 1, inner = 0 }: Bits, index: number): number {
  const together = index & (every - 1);
  return first + step * ((index - together) / every) + inner * together;
}

const CHOSEN = createChosenPoints();

/** Up to 16 bits of little-endian numbers. */
function readBits(bytes: Uint8Array, at: number, count: number): number {
  const byte = at >>> 3;
  const three = (bytes[byte] as number) | ((bytes[byte + 1] ?? 0) << 8) | ((bytes[byte + 2] ?? 0) << 16);
  return (three >>> (at & 7)) & (2 ** count - 1);
}

/** Sets bits that are zeros. */
function writeBits(bytes: Uint8Array, at: number, count: number, value: number): void {
  for (let bit = 0; bit < count; bit++) {
    const place = at + bit;
    bytes[place >>> 3] = (bytes[place >>> 3] as number) | (((value >>> bit) & 1) << (place & 7));
  }
}

/** Eight signs; where seven are stored, the eighth makes the number of negative ones even. */
function readSigns(bytes: Uint8Array, at: number, count: number): number {
  const signs = readBits(bytes, at, count);
  if (count === 8) return signs;
  let parity = signs ^ (signs >>> 4);
  parity ^= parity >>> 2;
  parity ^= parity >>> 1;
  return signs | ((parity & 1) << 7);
}
