import type { Shape } from '../../engine/model/architecture.ts';

/**
 * Small enough for a GPU in software, with matrices about as wide as the probes', and the proportions of a Llama 3: a
 * feed-forward network of 3.5 times its width.
 */
export const SMALL_MODEL: Shape = {
  name: 'Random-63M',
  architecture: 'llama',
  layers: 4,
  hiddenSize: 1024,
  ffnSize: 3584,
  heads: 16,
  kvHeads: 4,
  headSize: 64,
  vocabularySize: 4096,
  tiedEmbeddings: false,
  qkvBias: false,
};
