import { roundWithin } from '../block-format.ts';
import { floatToHalf, halfToFloat } from '../half.ts';
import { type AffineFit, fitAffine } from './fit-affine.ts';

/** A block of 256 values in parts, x = d s_p q − e o_p for part p. */
export interface AffineCodes {
  /** d and e, as binary16 holds them. */
  readonly scale: number;
  readonly offset: number;
  /** s and o, one of each per part. */
  readonly scales: Uint8Array;
  readonly offsets: Uint8Array;
  /** q of each value. */
  readonly codes: Uint8Array;
}

/**
 * Fits each part of `width` values, writes the parts' scales and offsets as whole numbers up to `most` of the largest,
 * and rounds the values to what is then left of them.
 * @param levels greatest q
 */
export function encodeAffine(
  values: Float32Array,
  from: number,
  { width, levels, most }: { readonly width: number; readonly levels: number; readonly most: number },
): AffineCodes {
  const parts = 256 / width;
  // Plain loops: this runs for every 256 of a billion weights.
  const fits: AffineFit[] = [];
  let largestScale = 0;
  let largestOffset = 0;
  for (let part = 0; part < parts; part++) {
    const fit = fitAffine(values, from + part * width, width, levels);
    fits.push(fit);
    largestScale = Math.max(largestScale, fit.scale);
    largestOffset = Math.max(largestOffset, fit.offset);
  }
  const scale = storable(largestScale / most);
  const offset = storable(largestOffset / most);
  const scales = new Uint8Array(parts);
  const offsets = new Uint8Array(parts);
  const codes = new Uint8Array(256);
  for (let part = 0; part < parts; part++) {
    const fit = fits[part] as AffineFit;
    const partScale = scale === 0 ? 0 : roundWithin(fit.scale / scale, 0, most);
    const partOffset = offset === 0 ? 0 : roundWithin(fit.offset / offset, 0, most);
    scales[part] = partScale;
    offsets[part] = partOffset;
    const step = scale * partScale;
    const shift = offset * partOffset;
    if (step === 0) continue;
    const inverse = 1 / step;
    for (let index = part * width; index < (part + 1) * width; index++) {
      codes[index] = roundWithin(((values[from + index] as number) + shift) * inverse, 0, levels);
    }
  }
  return { scale, offset, scales, offsets, codes };
}

function storable(value: number): number {
  return halfToFloat(floatToHalf(value));
}
