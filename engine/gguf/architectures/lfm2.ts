import type { LayerKind } from '../../model/layer-kind.ts';
import { applied } from '../metadata-rule.ts';
import type { Family } from './family.ts';

const SOURCE = 'engine/gguf/architectures/lfm2.ts';
const MOST_TOKENS = 2 ** 31;

/** LFM2 (Liquid AI 2025): layers without key and value heads are short convolutions. */
export const lfm2: Family = {
  pairs: 'halves',
  norms: 'heads',
  unlike: true,
  otherOutputNorm: true,
  mixture: { size: 'expert_feed_forward_length', scores: 'sigmoid', normalised: true, fromFile: true },
  rules: { 'attention.sliding_window': applied(SOURCE) },
  kinds(usual, { fields, key, kvHeads }) {
    const width = fields.count(key('shortconv.l_cache'), MOST_TOKENS);
    if (width < 2) fields.fail(key('shortconv.l_cache'), `is ${width}; at least 2 is needed`);
    const window = fields.optionalIndex(key('attention.sliding_window'), MOST_TOKENS) ?? 0;
    const attending: LayerKind = { ...usual, mixer: { ...usual.mixer, ...(window > 0 && { window }) } };
    const convolving: LayerKind = { ...usual, mixer: { kind: 'short-convolution', width } };
    return kvHeads.map((heads) => (heads === 0 ? convolving : attending));
  },
};
