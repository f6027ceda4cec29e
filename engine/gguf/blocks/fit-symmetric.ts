import { roundWithin } from '../block-format.ts';
import { extreme } from './extreme.ts';

/** Turns of rounding and refitting; a third changes the error by less than 1 %. */
const TURNS = 2;

/**
 * Scale, of either sign, for `count` values as x ≈ scale q with whole q from −`half` to `half` − 1. Begins with the value
 * furthest from zero at q = −half, then in turns rounds to q and solves least squares for the scale given q.
 */
export function fitSymmetric(values: Float32Array, from: number, count: number, half: number): number {
  let scale = extreme(values, from, count) / -half;
  for (let turn = 0; turn < TURNS && scale !== 0; turn++) {
    const inverse = 1 / scale;
    let squares = 0;
    let products = 0;
    for (let index = from; index < from + count; index++) {
      const value = values[index] as number;
      const code = roundWithin(value * inverse, -half, half - 1);
      squares += code * code;
      products += value * code;
    }
    if (squares === 0 || products === 0) break;
    scale = products / squares;
  }
  return scale;
}
