import { familyOf } from './architectures/families.ts';
import type { Gguf } from './gguf.ts';
import { quoted } from './gguf-error.ts';
import { applied, IDLE, type MetadataRule, neutral } from './metadata-rule.ts';
import type { MetadataValue } from './metadata-value.ts';

const SHAPE = 'engine/gguf/model-from-gguf.ts';
const SETTINGS = 'engine/gguf/transformer-settings.ts';
const ROTARY = 'engine/runtime/rotations.ts';

/**
 * Keys of all architectures, unless a family says otherwise: those in llama.cpp (llama-arch.cpp, LLM_KV_NAMES), and those
 * of their relatives.
 */
export const METADATA_RULES: Readonly<Record<string, MetadataRule>> = {
  block_count: applied(SHAPE),
  embedding_length: applied(SHAPE),
  feed_forward_length: applied(SHAPE),
  'attention.head_count': applied(SHAPE),
  'attention.head_count_kv': applied(SHAPE),
  'attention.key_length': applied(SHAPE),
  'attention.value_length': applied(SHAPE),
  expert_count: applied(SHAPE),
  context_length: applied(SETTINGS),
  'attention.layer_norm_rms_epsilon': applied(SETTINGS),
  'rope.freq_base': applied(SETTINGS),
  'rope.dimension_count': applied(SETTINGS),
  'rope.scaling.type': applied(ROTARY),
  'rope.scaling.factor': applied(ROTARY),
  'rope.scale_linear': applied(ROTARY),
  'rope.scaling.attn_factor': applied(ROTARY),
  'rope.scaling.yarn_log_multiplier': neutral('scales rotated queries and keys', 0),
  'attention.causal': neutral('lets tokens see those that follow', true),
  'attention.scale': neutral('scales attention otherwise than by the width of heads', 0),
  'attention.clamp_kqv': neutral('bounds queries, keys and values', 0),
  'attention.max_alibi_bias': neutral('replaces rotation by biases', 0),
  'attention.logit_softcapping': neutral('bounds attention', 0),
  attn_logit_softcapping: neutral('bounds attention', 0),
  final_logit_softcapping: neutral('bounds logits', 0),
  logit_scale: neutral('scales logits', 0, 1),
  embedding_scale: neutral('scales embeddings', 0, 1),
  residual_scale: neutral('scales what layers add', 0, 1),
  use_parallel_residual: neutral('computes attention and feed-forward side by side', false),
  'rope.scaling.original_context_length': applied(ROTARY),
  'rope.scaling.yarn_ext_factor': neutral('mixes scaled and unscaled angles in another share', -1, 1),
  'rope.scaling.finetuned': IDLE,
  // YaRN has 32 and 1, as in llama.cpp.
  'rope.scaling.yarn_beta_fast': IDLE,
  'rope.scaling.yarn_beta_slow': IDLE,
  // Counted by the embedding matrix.
  vocab_size: IDLE,
  expert_used_count: IDLE,
  // llama.cpp applies no window to these architectures.
  'attention.sliding_window': IDLE,
  'attention.layer_norm_epsilon': IDLE,
  tensor_data_layout: IDLE,
};

/**
 * Checks that nothing in a file's metadata asks for what isn't computed here.
 * @throws InputError with the key
 */
export function checkMetadata({ metadata, fields }: Gguf, architecture: string): void {
  for (const [key, rule] of Object.entries({ ...METADATA_RULES, ...familyOf(architecture).rules })) {
    const found = metadata.get(`${architecture}.${key}`);
    if (found === undefined || rule.kind !== 'neutral' || rule.values.some((value) => isValue(found, value))) continue;
    const is = found.type === 'string' ? quoted(found.value) : found.type === 'array' ? 'a list' : String(found.value);
    const allowed = rule.values.join(' or ');
    fields.fail(`${architecture}.${key}`, `is ${is}, which ${rule.effect}; only ${allowed} is supported`);
  }
}

function isValue(found: MetadataValue, value: number | boolean | string): boolean {
  return found.type !== 'array' && (typeof found.value === 'bigint' ? Number(found.value) : found.value) === value;
}
