import { InputError } from '../../input/input-error.ts';
import type { Shape } from '../../model/architecture.ts';
import { type Attention, type Dense, type Experts, keptHeads, type LayerKind } from '../../model/layer-kind.ts';
import { familyOf } from '../architectures/families.ts';
import { GATINGS } from '../architectures/mixture.ts';
import type { MetadataValue } from '../metadata-value.ts';

/** For a shape that doesn't say what its model was trained for: long enough for every workload here. */
const CONTEXT = 4096;

/** Settings of a family's models as published, which a shape doesn't have. */
interface PublishedSettings {
  readonly ropeBase: number;
  readonly normEpsilon: number;
  /** Scaling of angles (Peng et al. 2023): the factor, and the context before it. */
  readonly yarn?: { readonly factor: number; readonly context: number };
  /** Share of a head that is rotated; all unless given. */
  readonly rotated?: number;
}

/** Sources: the families' published configurations. */
const PUBLISHED: Readonly<Record<string, PublishedSettings>> = {
  llama: { ropeBase: 10_000, normEpsilon: 1e-5 },
  qwen2: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  qwen2moe: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  qwen3: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  qwen3moe: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  internlm2: { ropeBase: 1_000_000, normEpsilon: 1e-5 },
  olmoe: { ropeBase: 10_000, normEpsilon: 1e-5 },
  'ernie4_5-moe': { ropeBase: 500_000, normEpsilon: 1e-5 },
  'hunyuan-moe': { ropeBase: 10_000, normEpsilon: 1e-5 },
  'minimax-m2': { ropeBase: 5_000_000, normEpsilon: 1e-6, rotated: 0.5 },
  gemma3: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  glm4moe: { ropeBase: 1_000_000, normEpsilon: 1e-5, rotated: 0.5 },
  'gpt-oss': { ropeBase: 150_000, normEpsilon: 1e-5, yarn: { factor: 32, context: 4096 } },
  granite: { ropeBase: 10_000_000, normEpsilon: 1e-5 },
  granitemoe: { ropeBase: 10_000_000, normEpsilon: 1e-6 },
  mistral3: { ropeBase: 1_000_000, normEpsilon: 1e-5 },
  smollm3: { ropeBase: 5_000_000, normEpsilon: 1e-6 },
};

type Pairs = readonly (readonly [string, MetadataValue])[];
const count = (value: number): MetadataValue => ({ type: 'uint32', value });
const amount = (value: number): MetadataValue => ({ type: 'float32', value });

/**
 * The metadata that describe a shape, as `shapeFromMetadata` reads them, with the published settings of its family.
 * @throws InputError for a family without them
 */
export function shapeMetadata(shape: Shape): [string, MetadataValue][] {
  const { architecture, kinds } = shape;
  const settings = Object.hasOwn(PUBLISHED, architecture) ? PUBLISHED[architecture] : undefined;
  if (settings === undefined)
    throw new InputError(
      shape.name,
      `no models of ${architecture} are made; of these they are: ${Object.keys(PUBLISHED).join(', ')}`,
    );
  const pairs: Pairs = [
    ['context_length', count(shape.trainedContext ?? CONTEXT)],
    ['block_count', count(shape.layers)],
    ['embedding_length', count(shape.hiddenSize)],
    ...feedForwardMetadata(shape),
    ...attentionMetadata(attentionOf(shape), settings),
    ...windowMetadata(kinds),
    ...factorMetadata(shape),
    ['vocab_size', count(shape.vocabularySize)],
  ];
  return pairs.map(([key, value]) => [`${architecture}.${key}`, value]);
}

/** The attention of the first layer that has one. */
function attentionOf({ kinds }: Pick<Shape, 'kinds'>): Attention {
  const found = kinds.map(({ mixer }) => mixer).find((mixer) => mixer?.kind === 'attention');
  if (found === undefined) throw new RangeError('a model without attention');
  return found;
}

function attentionMetadata(
  { heads, kvHeads, headSize }: Attention,
  { ropeBase, normEpsilon, yarn, rotated = 1 }: PublishedSettings,
): Pairs {
  return [
    ['attention.head_count', count(heads)],
    ['attention.head_count_kv', count(kvHeads)],
    ['attention.key_length', count(headSize)],
    ['attention.value_length', count(headSize)],
    ['attention.layer_norm_rms_epsilon', amount(normEpsilon)],
    ['rope.dimension_count', count(headSize * rotated)],
    ['rope.freq_base', amount(ropeBase)],
    ...(yarn === undefined
      ? []
      : ([
          ['rope.scaling.type', { type: 'string', value: 'yarn' }],
          ['rope.scaling.factor', amount(yarn.factor)],
          ['rope.scaling.original_context_length', count(yarn.context)],
        ] as const)),
  ];
}

function windowMetadata(kinds: Shape['kinds']): Pairs {
  const window = kinds.map((kind) => keptHeads(kind)?.window).find((one) => one !== undefined);
  return window === undefined ? [] : [['attention.sliding_window', count(window)]];
}

/** Factors of families whose rules apply them (granite). */
function factorMetadata({ architecture, kinds, embeddingScale, logitScale }: Shape): Pairs {
  const { rules = {} } = familyOf(architecture);
  const [{ residualScale }] = kinds as readonly [LayerKind];
  const given: readonly (readonly [string, number | undefined])[] = [
    ['attention.scale', attentionOf({ kinds }).scale],
    ['residual_scale', residualScale],
    ['embedding_scale', embeddingScale],
    ['logit_scale', logitScale && 1 / logitScale],
  ];
  return given.flatMap(([key, value]) => (value === undefined || !(key in rules) ? [] : [[key, amount(value)]]));
}

function feedForwardMetadata({ architecture, kinds }: Shape): Pairs {
  const parts = kinds.map(({ feedForward }) => feedForward);
  const dense = parts.find((part): part is Dense => part?.kind === 'dense');
  const experts = parts.find((part): part is Experts => part?.kind === 'experts');
  if (experts === undefined) return [['feed_forward_length', count(dense?.size ?? 0)]];
  const { mixture } = familyOf(architecture);
  const { size, router, shared } = experts;
  const isOwn = mixture?.size === 'expert_feed_forward_length';
  const leading = parts.findIndex((part) => part?.kind === 'experts');
  return [
    ['feed_forward_length', count(dense?.size ?? (isOwn ? size * router.used : size))],
    ['expert_count', count(router.experts)],
    ['expert_used_count', count(router.used)],
    ...(isOwn ? ([['expert_feed_forward_length', count(size)]] as const) : []),
    ...(shared === undefined ? [] : ([['expert_shared_feed_forward_length', count(shared.size)]] as const)),
    ...(leading === 0 ? [] : ([['leading_dense_block_count', count(leading)]] as const)),
    ...(mixture?.fromFile ? routerMetadata(experts) : []),
  ];
}

function routerMetadata({ router: { scores, normalised, factor, groups } }: Experts): Pairs {
  return [
    ['expert_gating_func', count(GATINGS.indexOf(scores))],
    ['expert_weights_norm', { type: 'bool', value: normalised }],
    ...(factor === undefined ? [] : ([['expert_weights_scale', amount(factor)]] as const)),
    ...(groups === undefined
      ? []
      : ([
          ['expert_group_count', count(groups.count)],
          ['expert_group_used_count', count(groups.used)],
        ] as const)),
  ];
}
