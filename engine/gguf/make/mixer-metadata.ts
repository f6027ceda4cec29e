import { InputError } from '../../input/input-error.ts';
import type { Shape } from '../../model/architecture.ts';
import {
  type Attention,
  type LatentAttention,
  type LayerKind,
  type Recurrence,
  recurrenceOf,
} from '../../model/layer-kind.ts';
import { familyOf } from '../architectures/families.ts';
import type { MetadataValue } from '../metadata-value.ts';

export type Pairs = readonly (readonly [string, MetadataValue])[];
export const count = (value: number): MetadataValue => ({ type: 'uint32', value });
export const amount = (value: number): MetadataValue => ({ type: 'float32', value });
const text = (value: string): MetadataValue => ({ type: 'string', value });

/** A number that all layers share, or that of each. */
export function perLayer(values: readonly number[]): MetadataValue {
  const [first = 0] = values;
  return values.every((value) => value === first) ? count(first) : { type: 'array', value: { of: 'uint32', values } };
}

/** Settings of rotations as published, which a shape doesn't have. */
export interface PublishedRotation {
  /**
   * Scaling of angles (Peng et al. 2023): the context before it, and the factor unless the context that a model was trained
   * for tells.
   */
  readonly yarn?: { readonly factor: number; readonly context: number };
  /** Share of a head that is rotated; all unless given. */
  readonly rotated?: number;
}

/** The first attention of a model that sees all tokens before, or its first attention. */
export function attentionOf(kinds: Shape['kinds']): Attention | undefined {
  const all = kinds.map(({ mixer }) => mixer).filter((mixer) => mixer?.kind === 'attention');
  return all.find(({ window }) => window === undefined) ?? all[0];
}

/**
 * The metadata that describe what mixes the tokens of a text, as families read them.
 * @throws InputError for a model without attention
 */
export function mixerMetadata(shape: Shape, published: PublishedRotation): Pairs {
  const latent = shape.kinds.map(({ mixer }) => mixer).find((mixer) => mixer?.kind === 'latent-attention');
  if (latent !== undefined) return latentMetadata(latent, shape, published);
  const attention = attentionOf(shape.kinds);
  if (attention === undefined)
    throw new InputError(shape.name, 'has no layer with attention; models without it are not made');
  const recurrence = shape.kinds.map(recurrenceOf).find((one) => one !== undefined);
  const pairs = (attention.headSize * (published.rotated ?? 1)) / 2;
  return [
    ...attentionMetadata(attention, shape, published),
    ...localMetadata(attention, shape),
    ...(recurrence === undefined ? [] : recurrenceMetadata(recurrence, shape, pairs)),
  ];
}

function attentionMetadata(
  { heads, kvHeads, headSize, rotation }: Attention,
  { architecture, kinds, trainedContext }: Shape,
  { yarn, rotated = 1 }: PublishedRotation,
): Pairs {
  const { unlike, rules = {} } = familyOf(architecture);
  return [
    ['attention.head_count', count(heads)],
    ['attention.head_count_kv', unlike ? perLayer(kinds.map(kvHeadsOf)) : count(kvHeads)],
    ['attention.key_length', count(headSize)],
    ['attention.value_length', count(headSize)],
    ['rope.dimension_count', count(headSize * rotated)],
    ...(yarn === undefined ? [] : yarnMetadata(yarn, trainedContext)),
    ...(rotation === 'none' && 'rope.scaling.finetuned' in rules
      ? [['rope.scaling.finetuned', { type: 'bool', value: false }] as const]
      : []),
  ];
}

function kvHeadsOf({ mixer }: LayerKind): number {
  return mixer?.kind === 'attention' ? mixer.kvHeads : 0;
}

function yarnMetadata({ factor, context }: NonNullable<PublishedRotation['yarn']>, trainedContext = 0): Pairs {
  return [
    ['rope.scaling.type', text('yarn')],
    ['rope.scaling.factor', amount(trainedContext > context ? trainedContext / context : factor)],
    ['rope.scaling.original_context_length', count(context)],
  ];
}

/** Keys of layers with a window, and of those that attend to the keys of others (Gemma 4). */
function localMetadata({ headSize }: Attention, { architecture, kinds }: Shape): Pairs {
  const mixers = kinds.map(({ mixer }) => (mixer?.kind === 'attention' ? mixer : undefined));
  const local = mixers.find((mixer) => mixer?.window !== undefined);
  if (local?.window === undefined) return [];
  const flags = mixers.map((mixer) => Number(mixer?.window !== undefined));
  const shared = mixers.filter((mixer) => mixer?.keysOf !== undefined).length;
  return [
    ['attention.sliding_window', count(local.window)],
    ...(familyOf(architecture).unlike
      ? [['attention.sliding_window_pattern', { type: 'array', value: { of: 'bool', values: flags } }] as const]
      : []),
    ...(local.headSize === headSize
      ? []
      : ['attention.key_length_swa', 'attention.value_length_swa', 'rope.dimension_count_swa'].map(
          (key) => [key, count(local.headSize)] as const,
        )),
    ...(shared === 0 ? [] : [['attention.shared_kv_layers', count(shared)] as const]),
  ];
}

function latentMetadata(mixer: LatentAttention, { trainedContext }: Shape, { yarn }: PublishedRotation): Pairs {
  const { heads, plainSize, rotatedSize, valueSize, rank, queryRank, kept } = mixer;
  const keySize = plainSize + rotatedSize;
  const isLatent = kept === 'latent';
  return [
    ['attention.head_count', count(heads)],
    ['attention.head_count_kv', count(isLatent ? 1 : heads)],
    ['attention.key_length', count(isLatent ? rank + rotatedSize : keySize)],
    ['attention.value_length', count(isLatent ? rank : valueSize)],
    ...(isLatent
      ? ([
          ['attention.key_length_mla', count(keySize)],
          ['attention.value_length_mla', count(valueSize)],
        ] as const)
      : []),
    ['attention.kv_lora_rank', count(rank)],
    ...(queryRank === undefined ? [] : [['attention.q_lora_rank', count(queryRank)] as const]),
    ['rope.dimension_count', count(rotatedSize)],
    ...(yarn === undefined ? [] : scaledMetadata(mixer.scale * Math.sqrt(keySize), yarn, trainedContext)),
  ];
}

/** YaRN where scores have a factor, (1 + m·ln f)², of which m is written. */
function scaledMetadata(
  factor: number,
  yarn: NonNullable<PublishedRotation['yarn']>,
  trainedContext: number | undefined,
): Pairs {
  if (Math.abs(factor - 1) < 1e-9) return [];
  const scaling = yarnMetadata(yarn, trainedContext);
  const f = Number(new Map(scaling).get('rope.scaling.factor')?.value);
  return [...scaling, ['rope.scaling.yarn_log_multiplier', amount((Math.sqrt(factor) - 1) / Math.log(f))]];
}

/** @param pairs pairs of a head's values that are rotated */
function recurrenceMetadata(mixer: Recurrence, { architecture, kinds }: Shape, pairs: number): Pairs {
  const sizes = (groups: number, heads: number, state: number, inner: number): Pairs => [
    ['ssm.conv_kernel', count(mixer.width)],
    ['ssm.group_count', count(groups)],
    ['ssm.time_step_rank', count(heads)],
    ['ssm.state_size', count(state)],
    ['ssm.inner_size', count(inner)],
  ];
  switch (mixer.kind) {
    case 'short-convolution':
      return [['shortconv.l_cache', count(mixer.width)]];
    case 'mamba':
      return sizes(mixer.groups, mixer.heads, mixer.stateSize, mixer.heads * mixer.headSize);
    case 'delta-net': {
      const attending = kinds.findIndex((kind) => kind.mixer?.kind === 'attention');
      const [first, second] = [Math.ceil(pairs / 3), Math.ceil((pairs - Math.ceil(pairs / 3)) / 2)];
      const sections = { of: 'int32', values: [first, second, pairs - first - second, 0] } as const;
      return [
        ...sizes(mixer.keyHeads, mixer.valueHeads, mixer.size, mixer.valueHeads * mixer.size),
        ['full_attention_interval', count(attending + 1)],
        // llama.cpp demands them of Qwen3.5; the tokens of a text have one position in all three.
        ...(architecture.startsWith('qwen35')
          ? [['rope.dimension_sections', { type: 'array', value: sections }] as const]
          : []),
      ];
    }
  }
}
