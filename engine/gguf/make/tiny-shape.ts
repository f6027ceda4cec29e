import type { Shape } from '../../model/architecture.ts';

/** A model of a few MB with everything that a large one has: for tests and for trying things out. */
export const TINY_SHAPE: Shape = {
  name: 'tiny',
  architecture: 'llama',
  layers: 2,
  hiddenSize: 256,
  ffnSize: 512,
  heads: 8,
  kvHeads: 2,
  headSize: 32,
  vocabularySize: 1024,
  tiedEmbeddings: false,
  qkvBias: false,
};
