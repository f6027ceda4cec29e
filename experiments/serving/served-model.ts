import type { Shape } from '../../engine/model/architecture.ts';

/** Three layers as wide as TinyLlama-1.1B's and a small vocabulary: a sweep of loads takes minutes. */
export const SERVED_MODEL: Shape = {
  name: 'Random-140M',
  architecture: 'llama',
  layers: 3,
  hiddenSize: 2048,
  ffnSize: 5632,
  heads: 32,
  kvHeads: 4,
  headSize: 64,
  vocabularySize: 2048,
  tiedEmbeddings: false,
  qkvBias: false,
};
