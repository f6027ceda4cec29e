import type { Shape } from '../../engine/model/architecture.ts';

/** Small enough for a GPU in software, with the proportions of a Llama 3: a feed-forward network of 3.5 times its width. */
export const SMALL_MODEL: Shape = {
  name: 'Random-19M',
  architecture: 'llama',
  layers: 8,
  hiddenSize: 384,
  ffnSize: 1344,
  heads: 6,
  kvHeads: 2,
  headSize: 64,
  vocabularySize: 4096,
  tiedEmbeddings: false,
  qkvBias: false,
};
