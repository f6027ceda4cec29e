import { uniformShape } from '../engine/model/architecture.ts';
import { createModel, type Model } from '../engine/model/model.ts';

/**
 * A model whose layers have 128 MiB each in F16, with a vocabulary so small that the output layer takes no time worth
 * mention: for pictures of rings, in which only layers count.
 */
export function evenModel(layers: number): Model {
  return createModel(
    uniformShape({
      name: `${layers} layers of 128 MiB`,
      architecture: 'llama',
      layers,
      hiddenSize: 2048,
      ffnSize: 8192,
      heads: 16,
      kvHeads: 16,
      headSize: 128,
      vocabularySize: 32,
      tiedEmbeddings: false,
      qkvBias: false,
    }),
    'F16',
  );
}
