import { roundWithin } from '../block-format.ts';
import { floatToHalf, halfToFloat } from '../half.ts';
import { extreme } from './extreme.ts';
import { fitSymmetric } from './fit-symmetric.ts';

/** A block of 256 values in 16 parts of 16, x = d s_p q for part p. */
export interface SymmetricCodes {
  /** d, as binary16 holds it. */
  readonly scale: number;
  /** s, one per part. */
  readonly scales: Int8Array;
  /** q of each value. */
  readonly codes: Int8Array;
}

/**
 * Fits each part, writes the parts' scales as whole numbers from −`halfScale` to `halfScale` − 1, and rounds the values
 * to what is then left of them.
 * @param half q goes from −half to half − 1
 */
export function encodeSymmetric(
  values: Float32Array,
  from: number,
  { half, halfScale }: { readonly half: number; readonly halfScale: number },
): SymmetricCodes {
  // Plain loops: this runs for every 256 of a billion weights.
  const fits = new Float32Array(16);
  for (let part = 0; part < 16; part++) fits[part] = fitSymmetric(values, from + 16 * part, 16, half);
  const scale = halfToFloat(floatToHalf(extreme(fits, 0, 16) / -halfScale));
  const scales = new Int8Array(16);
  const codes = new Int8Array(256);
  for (let part = 0; part < 16 && scale !== 0; part++) {
    const partScale = roundWithin((fits[part] as number) / scale, -halfScale, halfScale - 1);
    scales[part] = partScale;
    const step = scale * partScale;
    if (step === 0) continue;
    const inverse = 1 / step;
    for (let index = 16 * part; index < 16 * part + 16; index++) {
      codes[index] = roundWithin((values[from + index] as number) * inverse, -half, half - 1);
    }
  }
  return { scale, scales, codes };
}
