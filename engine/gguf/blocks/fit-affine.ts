import { roundWithin } from '../block-format.ts';

/** x ≈ scale q − offset, with neither below zero. */
export interface AffineFit {
  readonly scale: number;
  readonly offset: number;
}

/** Turns of rounding and refitting; a third changes the error by less than 1 %. */
const TURNS = 2;

/**
 * Scale and offset for `count` values as whole numbers q from 0 to `levels`. Begins with least and greatest value, then
 * in turns rounds to q and solves least squares for scale and offset given q; no turn increases the squared error.
 */
export function fitAffine(values: Float32Array, from: number, count: number, levels: number): AffineFit {
  let low = 0;
  let high = Number.NEGATIVE_INFINITY;
  for (let index = from; index < from + count; index++) {
    const value = values[index] as number;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (high <= low) return { scale: 0, offset: -low };
  let scale = (high - low) / levels;
  let offset = -low;
  for (let turn = 0; turn < TURNS; turn++) {
    const inverse = 1 / scale;
    let codes = 0;
    let squares = 0;
    let sum = 0;
    let products = 0;
    for (let index = from; index < from + count; index++) {
      const value = values[index] as number;
      const code = roundWithin((value + offset) * inverse, 0, levels);
      codes += code;
      squares += code * code;
      sum += value;
      products += value * code;
    }
    const determinant = count * squares - codes * codes;
    if (determinant === 0) break;
    const least = (sum * squares - codes * products) / determinant;
    const slope = least > 0 ? products / squares : (count * products - sum * codes) / determinant;
    if (!(slope > 0)) break;
    scale = slope;
    offset = Math.max(0, -least);
  }
  return { scale, offset };
}
