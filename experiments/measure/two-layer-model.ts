import type { Shape } from '../../engine/model/architecture.ts';

/** Small enough for two processors that are both software. */
export const TWO_LAYERS: Shape = {
  name: 'Random-7M',
  architecture: 'llama',
  layers: 2,
  hiddenSize: 512,
  ffnSize: 1408,
  heads: 8,
  kvHeads: 4,
  headSize: 64,
  vocabularySize: 1024,
  tiedEmbeddings: false,
  qkvBias: false,
};

/** A quarter of it, for prompts of a thousand tokens on such processors. */
export const NARROW_LAYERS: Shape = {
  ...TWO_LAYERS,
  name: 'Random-2M',
  hiddenSize: 256,
  ffnSize: 704,
  heads: 4,
  kvHeads: 2,
};
