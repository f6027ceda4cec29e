import { floatToHalf, halfToFloat } from './half.ts';

/** Rounds of quantizing and refitting; a third changes the error by less than 1 %. */
const FITTING_ROUNDS = 2;

/** `value` rounded to a whole number and clamped to `low` … `high`. */
export function roundWithin(value: number, low: number, high: number): number {
  return value <= low ? low : value >= high ? high : Math.floor(value + 0.5);
}

/** The value furthest from zero among `count`, with its sign. */
export function furthestFromZero(values: Float32Array, from: number, count: number): number {
  let found = 0;
  for (let index = from; index < from + count; index++) {
    const value = values[index] as number;
    if (Math.abs(value) > Math.abs(found)) found = value;
  }
  return found;
}

/** x ≈ scale q − minimum; neither is negative. */
interface AffineFit {
  readonly scale: number;
  readonly minimum: number;
}

/**
 * Scale and minimum for `count` values as whole numbers q from 0 to `levels`. Starts from the smallest and largest
 * value, then alternates rounding to q with a least-squares solution for scale and minimum given q; no round increases
 * the squared error.
 */
export function fitAffine(values: Float32Array, from: number, count: number, levels: number): AffineFit {
  let low = 0;
  let high = Number.NEGATIVE_INFINITY;
  for (let index = from; index < from + count; index++) {
    const value = values[index] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (high <= low) return { scale: 0, minimum: -low };
  let scale = (high - low) / levels;
  let minimum = -low;
  for (let round = 0; round < FITTING_ROUNDS; round++) {
    const inverse = 1 / scale;
    let quants = 0;
    let squares = 0;
    let sum = 0;
    let products = 0;
    for (let index = from; index < from + count; index++) {
      const value = values[index] as number;
      const quant = roundWithin((value + minimum) * inverse, 0, levels);
      quants += quant;
      squares += quant * quant;
      sum += value;
      products += value * quant;
    }
    const determinant = count * squares - quants * quants;
    if (determinant === 0) break;
    const least = (sum * squares - quants * products) / determinant;
    const slope = least > 0 ? products / squares : (count * products - sum * quants) / determinant;
    if (!(slope > 0)) break;
    scale = slope;
    minimum = Math.max(0, -least);
  }
  return { scale, minimum };
}

/**
 * Scale, of either sign, for `count` values as x ≈ scale q with whole q from −`half` to `half` − 1. Starts with the
 * value furthest from zero at q = −half, then alternates rounding to q with a least-squares solution for the scale
 * given q.
 */
export function fitSymmetric(values: Float32Array, from: number, count: number, half: number): number {
  let scale = furthestFromZero(values, from, count) / -half;
  for (let round = 0; round < FITTING_ROUNDS && scale !== 0; round++) {
    const inverse = 1 / scale;
    let squares = 0;
    let products = 0;
    for (let index = from; index < from + count; index++) {
      const value = values[index] as number;
      const quant = roundWithin(value * inverse, -half, half - 1);
      squares += quant * quant;
      products += value * quant;
    }
    if (squares === 0 || products === 0) break;
    scale = products / squares;
  }
  return scale;
}

/** A block of 256 values whose groups have scales and minimums: x = d s_g q − e m_g in group g. */
export interface AffineBlock {
  /** d and e, as binary16 holds them. */
  readonly scale: number;
  readonly minimum: number;
  /** s and m, one of each per group. */
  readonly scales: Uint8Array;
  readonly minimums: Uint8Array;
  /** q of each value. */
  readonly quants: Uint8Array;
}

/**
 * Fits each group of `width` values, expresses the groups' scales and minimums as whole numbers from 0 to `most` in
 * units of d and e, and quantizes the values with those rounded scales and minimums.
 * @param levels largest q
 */
export function encodeAffine(
  values: Float32Array,
  from: number,
  { width, levels, most }: { readonly width: number; readonly levels: number; readonly most: number },
): AffineBlock {
  const groups = 256 / width;
  // Plain loops: this runs for every 256 of a billion weights.
  const fits: AffineFit[] = [];
  let largestScale = 0;
  let largestMinimum = 0;
  for (let group = 0; group < groups; group++) {
    const fit = fitAffine(values, from + group * width, width, levels);
    fits.push(fit);
    largestScale = Math.max(largestScale, fit.scale);
    largestMinimum = Math.max(largestMinimum, fit.minimum);
  }
  const scale = roundToHalf(largestScale / most);
  const minimum = roundToHalf(largestMinimum / most);
  const scales = new Uint8Array(groups);
  const minimums = new Uint8Array(groups);
  const quants = new Uint8Array(256);
  for (let group = 0; group < groups; group++) {
    const fit = fits[group] as AffineFit;
    const groupScale = scale === 0 ? 0 : roundWithin(fit.scale / scale, 0, most);
    const groupMinimum = minimum === 0 ? 0 : roundWithin(fit.minimum / minimum, 0, most);
    scales[group] = groupScale;
    minimums[group] = groupMinimum;
    const step = scale * groupScale;
    const shift = minimum * groupMinimum;
    if (step === 0) continue;
    const inverse = 1 / step;
    for (let index = group * width; index < (group + 1) * width; index++) {
      quants[index] = roundWithin(((values[from + index] as number) + shift) * inverse, 0, levels);
    }
  }
  return { scale, minimum, scales, minimums, quants };
}

/** A block of 256 values in 16 groups of 16 without minimums: x = d s_g q in group g. */
export interface SymmetricBlock {
  /** d, as binary16 holds it. */
  readonly scale: number;
  /** s, one per group. */
  readonly scales: Int8Array;
  /** q of each value. */
  readonly quants: Int8Array;
}

/**
 * Fits each group, expresses the groups' scales as whole numbers from −`halfScale` to `halfScale` − 1 in units of d,
 * and quantizes the values with those rounded scales.
 * @param half q goes from −half to half − 1
 */
export function encodeSymmetric(
  values: Float32Array,
  from: number,
  { half, halfScale }: { readonly half: number; readonly halfScale: number },
): SymmetricBlock {
  // Plain loops: this runs for every 256 of a billion weights.
  const fits = new Float32Array(16);
  for (let group = 0; group < 16; group++) fits[group] = fitSymmetric(values, from + 16 * group, 16, half);
  const scale = roundToHalf(furthestFromZero(fits, 0, 16) / -halfScale);
  const scales = new Int8Array(16);
  const quants = new Int8Array(256);
  for (let group = 0; group < 16 && scale !== 0; group++) {
    const groupScale = roundWithin((fits[group] as number) / scale, -halfScale, halfScale - 1);
    scales[group] = groupScale;
    const step = scale * groupScale;
    if (step === 0) continue;
    const inverse = 1 / step;
    for (let index = 16 * group; index < 16 * group + 16; index++) {
      quants[index] = roundWithin((values[from + index] as number) * inverse, -half, half - 1);
    }
  }
  return { scale, scales, quants };
}

function roundToHalf(value: number): number {
  return halfToFloat(floatToHalf(value));
}
