import type { FileMix } from '../../../engine/model/mix.ts';
import { SHAPES } from '../engine/bench-model.ts';

/** Models of the catalogue in the box; mixtures are cut to a few layers. */
export const KIT_SHAPES = { ...SHAPES, qwen3moe: 'Qwen3-30B-A3B', 'gpt-oss': 'gpt-oss-20b' } as const;
export type KitShapeName = keyof typeof KIT_SHAPES;

/** Layers of mixtures: with all of them, they would take minutes to make. */
export const MIXTURE_LAYERS = 8;

type Contestant = readonly [shape: KitShapeName, mix: FileMix];

/**
 * Models in the order of what matters: one of each kind comes before further formats. The first is that of splits,
 * batches and rings; the second is the mixture whose experts are on the CPU, or on the GPU.
 */
const CONTESTS: readonly [Contestant, Contestant, ...Contestant[]] = [
  ['8b', 'Q4_K_M'],
  ['qwen3moe', 'Q4_K_M'],
  ['8b', 'F16'],
  ['gpt-oss', 'MXFP4_MOE'],
  ['8b', 'Q8_0'],
  ['1b', 'Q4_K_M'],
  ['1b', 'F16'],
  ['1b', 'Q8_0'],
  ['1b', 'MXFP4'],
  ['8b', 'MXFP4'],
];

/** The same for a GPU in software, which compiles the kernels of each format in seconds: those of one come first. */
const SOFTWARE_CONTESTS: typeof CONTESTS = [
  ['8b', 'F16'],
  ['qwen3moe', 'F16'],
  ['8b', 'Q4_K_M'],
  ['gpt-oss', 'MXFP4_MOE'],
  ['1b', 'Q8_0'],
];

export const contestants = (software: boolean): typeof CONTESTS => (software ? SOFTWARE_CONTESTS : CONTESTS);
