import type { LayerKind } from '../../model/layer-kind.ts';
import type { Family } from './family.ts';

/**
 * GLM-4.5 and later (Zhipu AI 2025): one dense layer before mixtures with a shared expert; only the large model normalises
 * heads; the last block predicts a second token.
 */
export const glm4moe: Family = {
  pairs: 'halves',
  norms: 'if-present',
  predictionBlocks: true,
  mixture: {
    size: 'expert_feed_forward_length',
    scores: 'sigmoid',
    normalised: false,
    fromFile: true,
    shared: 'plain',
  },
  kinds: (usual, { layers }) => new Array<LayerKind>(layers).fill({ ...usual, feedForwardNorm: 'post_attention_norm' }),
};
