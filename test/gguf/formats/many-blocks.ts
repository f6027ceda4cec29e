import { randomStream } from '../../../engine/input/random-stream.ts';
import { QUANTIZATIONS, type Quantization } from '../../../engine/model/quantization.ts';

/** So many that each of the 2048 points of IQ1_S and IQ1_M is among them. */
const BLOCKS = 1024;

/** Bytes whose bit 6 is the highest of a half-precision exponent: cleared, numbers are finite. */
const EXPONENTS: Partial<Record<Quantization, readonly number[]>> = {
  Q2_K: [81, 83],
  Q3_K: [109],
  Q6_K: [209],
  TQ1_0: [53],
  TQ2_0: [65],
  IQ1_M: [55],
  MXFP4: [],
};

/** Random blocks of a format, the same for every run, whose weights are finite. */
export function manyBlocks(type: Quantization): Uint8Array {
  const { bytes } = QUANTIZATIONS[type];
  const { integer } = randomStream(1, `blocks of ${type}`);
  const blocks = Uint8Array.from({ length: BLOCKS * bytes }, () => integer(0, 255));
  const hasMinimum = QUANTIZATIONS[type].hasMinimum;
  for (let at = 0; at < blocks.length; at += bytes) {
    for (const place of EXPONENTS[type] ?? (hasMinimum ? [1, 3] : [1]))
      blocks[at + place] = (blocks[at + place] as number) & 0xbf;
  }
  return blocks;
}
