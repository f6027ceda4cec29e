import { type Shape, uniformShape } from '../../engine/model/architecture.ts';

/** The common shape of the models: 32 layers, so that four devices can take eight rounds; everything else is small. */
const COMMON = {
  architecture: 'llama',
  layers: 32,
  headSize: 128,
  vocabularySize: 1024,
  tiedEmbeddings: false,
  qkvBias: false,
} as const;

/** Models of a lab, with the size of 32 layers in F16. */
export const LAB_SHAPES = {
  /** 0.60 GB, 151 MB on each of four devices. */
  small: uniformShape({ ...COMMON, name: 'Lab-0.3B', hiddenSize: 1024, ffnSize: 2048, heads: 8, kvHeads: 4 }),
  /** 2.2 GB, 554 MB on each of four devices. */
  medium: uniformShape({ ...COMMON, name: 'Lab-1B', hiddenSize: 2048, ffnSize: 3584, heads: 16, kvHeads: 8 }),
  /** 4.3 GB, 1074 MB on each of four devices, as in the C prototype of the ring. */
  large: uniformShape({ ...COMMON, name: 'Lab-2B', hiddenSize: 2048, ffnSize: 8192, heads: 16, kvHeads: 16 }),
} as const satisfies Record<string, Shape>;
export type LabSize = keyof typeof LAB_SHAPES;
export const LAB_SIZES = Object.keys(LAB_SHAPES) as LabSize[];
