import type { FileMix } from '../../../engine/model/mix.ts';
import type { SHAPES } from '../engine/bench-model.ts';

/** Models in the order of what matters; the first is kept for the steps after the contests. */
export const CONTESTS = [
  ['8b', 'Q4_K_M'],
  ['8b', 'F16'],
  ['8b', 'Q8_0'],
  ['1b', 'Q4_K_M'],
  ['1b', 'F16'],
  ['1b', 'Q8_0'],
  ['1b', 'MXFP4'],
  ['8b', 'MXFP4'],
] as const satisfies readonly (readonly [shape: keyof typeof SHAPES, mix: FileMix])[];
