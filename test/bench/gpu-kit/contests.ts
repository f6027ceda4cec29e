import type { FileMix } from '../../../engine/model/mix.ts';
import { SHAPES } from '../engine/bench-model.ts';

/** Models of the catalogue in the box; mixtures are cut to a few layers. */
export const KIT_SHAPES = { ...SHAPES, qwen3moe: 'Qwen3-30B-A3B', 'gpt-oss': 'gpt-oss-20b' } as const;
export type KitShapeName = keyof typeof KIT_SHAPES;

/** Layers of mixtures: with all of them, they would take minutes to make. */
export const MIXTURE_LAYERS = 8;

/** The mixture whose experts are on the CPU, or on the GPU. */
export const MIXTURE = ['qwen3moe', 'Q4_K_M'] as const satisfies Contestant;

/** Models in the order of what matters; the first, and the mixture, are kept for the steps after the contests. */
export const CONTESTS = [
  ['8b', 'Q4_K_M'],
  ['8b', 'F16'],
  MIXTURE,
  ['gpt-oss', 'MXFP4_MOE'],
  ['8b', 'Q8_0'],
  ['1b', 'Q4_K_M'],
  ['1b', 'F16'],
  ['1b', 'Q8_0'],
  ['1b', 'MXFP4'],
  ['8b', 'MXFP4'],
] as const satisfies readonly Contestant[];

type Contestant = readonly [shape: KitShapeName, mix: FileMix];
