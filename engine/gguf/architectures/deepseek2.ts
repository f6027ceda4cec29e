import type { LatentAttention } from '../../model/layer-kind.ts';
import { applied } from '../metadata-rule.ts';
import type { Family, FamilyFile } from './family.ts';

const SOURCE = 'engine/gguf/architectures/deepseek2.ts';
const MOST_WIDTH = 1_000_000;

/**
 * DeepSeek-V2, V3 and R1 (2024), and models of their architecture (Kimi K2, GLM-4.7-Flash): latent attention, dense layers
 * before mixtures with shared experts.
 */
export const deepseek2: Family = {
  pairs: 'adjacent',
  predictionBlocks: true,
  scaledScores: true,
  mixture: {
    size: 'expert_feed_forward_length',
    scores: 'softmax',
    normalised: false,
    fromFile: true,
    shared: 'plain',
  },
  rules: { 'rope.scaling.yarn_log_multiplier': applied(SOURCE) },
  mixer: readLatentAttention,
};

/** Files with `key_length_mla` keep compressed keys and values, and older ones those of each head. */
function readLatentAttention({ fields, key }: FamilyFile): LatentAttention {
  const kept = fields.optionalCount(key('attention.key_length_mla'), MOST_WIDTH) === undefined ? 'heads' : 'latent';
  const suffix = kept === 'latent' ? '_mla' : '';
  const keySize = fields.count(key(`attention.key_length${suffix}`), MOST_WIDTH);
  const valueSize = fields.count(key(`attention.value_length${suffix}`), MOST_WIDTH);
  const rotatedSize = fields.count(key('rope.dimension_count'), MOST_WIDTH);
  if (rotatedSize >= keySize)
    fields.fail(
      key('rope.dimension_count'),
      `${rotatedSize} leaves none of a key’s ${keySize} values without rotation`,
    );
  if (kept === 'heads' && valueSize > keySize)
    fields.fail(key('attention.value_length'), `${valueSize} is more than the keys’ ${keySize}`);
  const queryRank = fields.optionalIndex(key('attention.q_lora_rank'), MOST_WIDTH) ?? 0;
  return {
    ...{ kind: 'latent-attention', kept, valueSize, rotatedSize, plainSize: keySize - rotatedSize },
    heads: fields.count(key('attention.head_count'), MOST_WIDTH),
    rank: fields.count(key('attention.kv_lora_rank'), MOST_WIDTH),
    ...(queryRank > 0 && { queryRank }),
    scale: scoreFactor({ fields, key }) / Math.sqrt(keySize),
  };
}

/** (1 + m·ln f)² under YaRN with the factor f (DeepSeek's published code; m is 0.1 · mscale_all_dim). */
function scoreFactor({ fields, key }: Pick<FamilyFile, 'fields' | 'key'>): number {
  if (fields.optionalText(key('rope.scaling.type')) !== 'yarn') return 1;
  const factor = fields.factor(key('rope.scaling.factor')) ?? 1;
  return (1 + fields.amount(key('rope.scaling.yarn_log_multiplier')) * Math.log(factor)) ** 2;
}
