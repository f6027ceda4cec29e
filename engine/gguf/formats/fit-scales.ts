import { floatToHalf, halfToFloat } from './half.ts';

/** Rounds of quantizing and refitting; a third changes the error by less than 1 %. */
const FITTING_ROUNDS = 2;

/**
 * Levels by which the range that a search begins with is wider or narrower than that of the values. A narrower range
 * cuts the outermost values off and has finer steps for all others.
 */
const SEARCHED = [-0.8, -0.6, -0.4, -0.2, 0, 0.2, 0.4] as const;

/** Weight of each value's squared error: `values[first + i]` for the i-th value of a block; none is negative. */
export interface Weights {
  readonly values: Float32Array;
  readonly first: number;
}

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
 * the squared error. With weights, the best of several starts by the weighted error.
 */
export function fitAffine(
  values: Float32Array,
  from: number,
  count: number,
  levels: number,
  weights?: Weights,
): AffineFit {
  let low = 0;
  let high = Number.NEGATIVE_INFINITY;
  for (let index = from; index < from + count; index++) {
    const value = values[index] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (high <= low) return { scale: 0, minimum: -low };
  const group = { values, from, count, levels, weights };
  const widest: AffineFit = { scale: (high - low) / levels, minimum: -low };
  if (weights === undefined) {
    let fit = widest;
    for (let round = 0; round < FITTING_ROUNDS; round++) fit = refitAffine(group, fit) ?? fit;
    return fit;
  }
  let best: AffineFit = widest;
  let most = Number.NEGATIVE_INFINITY;
  for (const wider of SEARCHED) {
    let fit: RefittedAffine | undefined;
    for (let round = 0; round < FITTING_ROUNDS; round++)
      fit = refitAffine(group, fit ?? { scale: (high - low) / (levels + wider), minimum: -low }) ?? fit;
    if (fit !== undefined && fit.explained > most) {
      most = fit.explained;
      best = fit;
    }
  }
  return best;
}

interface AffineGroup {
  readonly values: Float32Array;
  readonly from: number;
  readonly count: number;
  readonly levels: number;
  readonly weights: Weights | undefined;
}

interface RefittedAffine extends AffineFit {
  /** By how much the weighted sum of x² exceeds the weighted squared error. */
  readonly explained: number;
}

/** One round: rounds to q, then solves for scale and minimum; `undefined` where the q are all alike. */
function refitAffine(
  { values, from, count, levels, weights }: AffineGroup,
  { scale, minimum }: AffineFit,
): RefittedAffine | undefined {
  const inverse = 1 / scale;
  let total = 0;
  let quants = 0;
  let squares = 0;
  let sum = 0;
  let products = 0;
  for (let index = 0; index < count; index++) {
    const value = values[from + index] as number;
    const weight = weights === undefined ? 1 : (weights.values[weights.first + index] as number);
    const quant = roundWithin((value + minimum) * inverse, 0, levels);
    total += weight;
    quants += weight * quant;
    squares += weight * quant * quant;
    sum += weight * value;
    products += weight * value * quant;
  }
  const determinant = total * squares - quants * quants;
  if (!(determinant > 0)) return undefined;
  const least = (sum * squares - quants * products) / determinant;
  const slope = least > 0 ? products / squares : (total * products - sum * quants) / determinant;
  if (!(slope > 0)) return undefined;
  const shift = Math.max(0, -least);
  const explained =
    2 * (slope * products - shift * sum) -
    (slope * slope * squares - 2 * slope * shift * quants + shift * shift * total);
  return { scale: slope, minimum: shift, explained };
}

/**
 * Scale, of either sign, for `count` values as x ≈ scale q with whole q from −`half` to `half` − 1. Starts with the
 * value furthest from zero at q = −half, then alternates rounding to q with a least-squares solution for the scale
 * given q. With weights, the best of several starts by the weighted error.
 */
export function fitSymmetric(
  values: Float32Array,
  from: number,
  count: number,
  half: number,
  weights?: Weights,
): number {
  const furthest = furthestFromZero(values, from, count);
  let best = furthest / -half;
  let most = Number.NEGATIVE_INFINITY;
  for (const wider of weights === undefined ? [0] : SEARCHED) {
    let scale = furthest / -(half + wider);
    for (let round = 0; round < FITTING_ROUNDS && scale !== 0; round++) {
      const inverse = 1 / scale;
      let squares = 0;
      let products = 0;
      for (let index = 0; index < count; index++) {
        const value = values[from + index] as number;
        const weight = weights === undefined ? 1 : (weights.values[weights.first + index] as number);
        const quant = roundWithin(value * inverse, -half, half - 1);
        squares += weight * quant * quant;
        products += weight * value * quant;
      }
      if (squares === 0 || products === 0) break;
      scale = products / squares;
      // The weighted squared error is the weighted sum of x² less this.
      const explained = products * scale;
      if (weights === undefined || explained > most) {
        most = explained;
        best = scale;
      }
    }
  }
  return best;
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
  weights?: Weights,
): AffineBlock {
  const groups = 256 / width;
  // Plain loops: this runs for every 256 of a billion weights.
  const fits: AffineFit[] = [];
  let largestScale = 0;
  let largestMinimum = 0;
  for (let group = 0; group < groups; group++) {
    const fit = fitAffine(values, from + group * width, width, levels, laterWeights(weights, group * width));
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
  weights?: Weights,
): SymmetricBlock {
  // Plain loops: this runs for every 256 of a billion weights.
  const fits = new Float32Array(16);
  for (let group = 0; group < 16; group++)
    fits[group] = fitSymmetric(values, from + 16 * group, 16, half, laterWeights(weights, 16 * group));
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

/** The weights of values that begin `count` later. */
export function laterWeights(weights: Weights | undefined, count: number): Weights | undefined {
  return weights === undefined ? undefined : { values: weights.values, first: weights.first + count };
}

function roundToHalf(value: number): number {
  return halfToFloat(floatToHalf(value));
}
