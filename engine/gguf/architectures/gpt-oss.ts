import type { LayerKind } from '../../model/layer-kind.ts';
import { applied } from '../metadata-rule.ts';
import type { Family } from './family.ts';

const SOURCE = 'engine/gguf/architectures/gpt-oss.ts';
const MOST_WINDOW = 2 ** 31;

/**
 * gpt-oss (OpenAI 2025): every other layer, from the first on, has a window; heads have sinks; all matrices have biases;
 * experts are weighted by a softmax over those that were chosen.
 */
export const gptOss: Family = {
  pairs: 'halves',
  mixture: {
    size: 'expert_feed_forward_length',
    scores: 'logits',
    normalised: false,
    activation: 'clamped-silu',
    bias: true,
  },
  rules: { 'attention.sliding_window': applied(SOURCE) },
  kinds(usual, { fields, key, layers }) {
    const mixer = { ...usual.mixer, outputBias: true, sinks: true } as const;
    const global: LayerKind = { ...usual, mixer, feedForwardNorm: 'post_attention_norm' };
    const window = fields.count(key('attention.sliding_window'), MOST_WINDOW);
    const local: LayerKind = { ...global, mixer: { ...mixer, window } };
    return Array.from({ length: layers }, (_, layer) => (layer % 2 === 0 ? local : global));
  },
};
