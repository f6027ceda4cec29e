import { type UniformShape, uniformShape } from '../../engine/model/architecture.ts';

/** Small enough for two processors that are both software. */
const TWO: UniformShape = {
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
export const TWO_LAYERS = uniformShape(TWO);

/** A quarter of it, for prompts of a thousand tokens on such processors. */
export const NARROW_LAYERS = uniformShape({
  ...TWO,
  name: 'Random-2M',
  hiddenSize: 256,
  ffnSize: 704,
  heads: 4,
  kvHeads: 2,
});
