import { familyOf } from './architectures/families.ts';
import type { Gguf } from './gguf.ts';
import { quoted } from './gguf-error.ts';
import { applied, IDLE, type MetadataRule, neutral } from './metadata-rule.ts';
import type { MetadataValue } from './metadata-value.ts';

const SHAPE = 'engine/gguf/shape-from-metadata.ts';
const MIXTURE = 'engine/gguf/architectures/mixture.ts';
const STATE_SPACE = 'engine/gguf/architectures/state-space.ts';
const LATENT = 'engine/gguf/architectures/deepseek2.ts';
const GEMMA = 'engine/gguf/architectures/gemma4.ts';
const DELTA_NET = 'engine/gguf/architectures/qwen3next.ts';
const SETTINGS = 'engine/gguf/transformer-settings.ts';
const ROTARY = 'engine/runtime/pass/rotations.ts';

/**
 * Keys of all architectures, unless a family says otherwise: those in llama.cpp (llama-arch.cpp, LLM_KV_NAMES), and those
 * of their relatives. What describes a kind of layer is applied for architectures that have layers of this kind.
 */
export const METADATA_RULES: Readonly<Record<string, MetadataRule>> = {
  block_count: applied(SHAPE),
  embedding_length: applied(SHAPE),
  feed_forward_length: applied(SHAPE),
  'attention.head_count': applied(SHAPE),
  'attention.head_count_kv': applied(SHAPE),
  'attention.key_length': applied(SHAPE),
  'attention.value_length': applied(SHAPE),
  expert_count: applied(MIXTURE),
  expert_used_count: applied(MIXTURE),
  expert_feed_forward_length: applied('engine/gguf/architectures/family.ts'),
  expert_shared_count: applied(MIXTURE),
  expert_shared_feed_forward_length: applied(MIXTURE),
  leading_dense_block_count: applied(MIXTURE),
  interleave_moe_layer_step: neutral('puts dense layers between mixtures', 0, 1),
  // As in llama.cpp, families whose routers don't say so themselves have one kind of scores.
  expert_gating_func: IDLE,
  expert_weights_norm: IDLE,
  expert_weights_scale: neutral('scales experts’ weights', 0, 1),
  expert_group_count: neutral('chooses experts by groups', 0, 1),
  expert_group_used_count: IDLE,
  nextn_predict_layers: applied(SHAPE),
  'attention.kv_lora_rank': applied(LATENT),
  'attention.q_lora_rank': applied(LATENT),
  'attention.key_length_mla': applied(LATENT),
  'attention.value_length_mla': applied(LATENT),
  'attention.sliding_window_pattern': applied(GEMMA),
  'attention.key_length_swa': applied(GEMMA),
  'attention.value_length_swa': applied(GEMMA),
  'attention.shared_kv_layers': applied(GEMMA),
  embedding_length_per_layer_input: applied(GEMMA),
  'ssm.conv_kernel': applied(STATE_SPACE),
  'ssm.inner_size': applied(STATE_SPACE),
  'ssm.state_size': applied(STATE_SPACE),
  'ssm.time_step_rank': applied(STATE_SPACE),
  'ssm.group_count': applied(STATE_SPACE),
  'shortconv.l_cache': applied('engine/gguf/architectures/lfm2.ts'),
  full_attention_interval: applied(DELTA_NET),
  'rope.dimension_sections': applied(DELTA_NET),
  'rope.dimension_count_swa': applied(ROTARY),
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
  // llama.cpp applies no window to these architectures.
  'attention.sliding_window': IDLE,
  'attention.layer_norm_epsilon': IDLE,
  tensor_data_layout: IDLE,
};

/** Meanings of `expert_…` keys for families whose routers are described by the file. */
const ROUTER_RULES: Readonly<Record<string, MetadataRule>> = Object.fromEntries(
  ['gating_func', 'weights_norm', 'weights_scale', 'group_count', 'group_used_count'].map((key) => [
    `expert_${key}`,
    applied(MIXTURE),
  ]),
);

/** The rules of an architecture's keys. */
export function metadataRules(architecture: string): Readonly<Record<string, MetadataRule>> {
  const { mixture, rules } = familyOf(architecture);
  return { ...METADATA_RULES, ...(mixture?.fromFile && ROUTER_RULES), ...rules };
}

/**
 * Checks that nothing in a file's metadata asks for what isn't computed here.
 * @throws InputError with the key
 */
export function checkMetadata({ metadata, fields }: Gguf, architecture: string): void {
  for (const [key, rule] of Object.entries(metadataRules(architecture))) {
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
