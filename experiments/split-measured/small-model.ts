import type { Shape } from '../../engine/model/architecture.ts';

/**
 * Three layers of TinyLlama-1.1B, whose matrices are as wide as those of the probes, and a small vocabulary: small enough
 * for a GPU in software.
 */
export const SMALL_MODEL: Shape = {
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
