import { InputError } from '../../input/input-error.ts';
import type { Shape } from '../../model/architecture.ts';
import type { Dense, Experts, LayerKind } from '../../model/layer-kind.ts';
import { familyOf } from '../architectures/families.ts';
import { GATINGS } from '../architectures/mixture.ts';
import type { MetadataValue } from '../metadata-value.ts';
import {
  amount,
  attentionOf,
  count,
  mixerMetadata,
  type Pairs,
  type PublishedRotation,
  perLayer,
} from './mixer-metadata.ts';

/** For a shape that doesn't say what its model was trained for: long enough for every workload here. */
const CONTEXT = 4096;

/** Settings of a family's models as published, which a shape doesn't have. */
interface PublishedSettings extends PublishedRotation {
  readonly ropeBase: number;
  readonly normEpsilon: number;
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
  deepseek2: { ropeBase: 10_000, normEpsilon: 1e-6, yarn: { factor: 40, context: 4096 } },
  gemma4: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  granitehybrid: { ropeBase: 10_000, normEpsilon: 1e-5 },
  lfm2: { ropeBase: 1_000_000, normEpsilon: 1e-5 },
  lfm2moe: { ropeBase: 1_000_000, normEpsilon: 1e-5 },
  nemotron_h: { ropeBase: 10_000, normEpsilon: 1e-5 },
  nemotron_h_moe: { ropeBase: 10_000, normEpsilon: 1e-5 },
  qwen3next: { ropeBase: 10_000_000, normEpsilon: 1e-6, rotated: 0.25 },
  qwen35: { ropeBase: 10_000_000, normEpsilon: 1e-6, rotated: 0.25 },
  qwen35moe: { ropeBase: 10_000_000, normEpsilon: 1e-6, rotated: 0.25 },
  smollm3: { ropeBase: 5_000_000, normEpsilon: 1e-6 },
};

/**
 * The metadata that describe a shape, as `shapeFromMetadata` reads them, with the published settings of its family.
 * @throws InputError for a family without them
 */
export function shapeMetadata(shape: Shape): [string, MetadataValue][] {
  const { architecture } = shape;
  const settings = Object.hasOwn(PUBLISHED, architecture) ? PUBLISHED[architecture] : undefined;
  if (settings === undefined)
    throw new InputError(
      shape.name,
      `no models of ${architecture} are made; of these they are: ${Object.keys(PUBLISHED).join(', ')}`,
    );
  const { trainedContext = CONTEXT } = shape;
  const pairs: Pairs = [
    ['context_length', count(trainedContext)],
    ['block_count', count(shape.layers)],
    ['embedding_length', count(shape.hiddenSize)],
    ...feedForwardMetadata(shape),
    ['attention.layer_norm_rms_epsilon', amount(settings.normEpsilon)],
    // llama.cpp demands both of Nemotron.
    ...(architecture.startsWith('nemotron_h')
      ? [['attention.layer_norm_epsilon', amount(settings.normEpsilon)] as const]
      : []),
    ['rope.freq_base', amount(settings.ropeBase)],
    ...mixerMetadata({ ...shape, trainedContext }, settings),
    ...factorMetadata(shape),
    ['vocab_size', count(shape.vocabularySize)],
  ];
  return pairs.map(([key, value]) => [`${architecture}.${key}`, value]);
}

/** Factors of families whose rules apply them (granite, gemma). */
function factorMetadata({ architecture, kinds, embeddingScale, logitScale, logitCap, layerInputs }: Shape): Pairs {
  const { rules = {} } = familyOf(architecture);
  const [{ residualScale }] = kinds as readonly [LayerKind];
  const given: readonly (readonly [string, number | undefined])[] = [
    ['attention.scale', attentionOf(kinds)?.scale],
    ['final_logit_softcapping', logitCap],
    ['residual_scale', residualScale],
    ['embedding_scale', embeddingScale],
    ['logit_scale', logitScale && 1 / logitScale],
  ];
  return [
    ...given.flatMap(([key, value]): Pairs => (value === undefined || !(key in rules) ? [] : [[key, amount(value)]])),
    ...(layerInputs === undefined ? [] : [['embedding_length_per_layer_input', count(layerInputs)] as const]),
  ];
}

/**
 * Width that `feed_forward_length` has of a layer where layers differ: of its dense network, of the one next to its experts,
 * or of experts that are all of the layer; 0 without any. `undefined`: of a mixture after a mixer, which has none.
 */
function networkSize({ mixer, feedForward }: LayerKind): number | undefined {
  if (feedForward === undefined) return 0;
  if (feedForward.kind === 'dense') return feedForward.size;
  return feedForward.beside ?? (mixer === undefined ? feedForward.size : undefined);
}

function feedForwardMetadata({ architecture, kinds }: Shape): Pairs {
  const parts = kinds.map(({ feedForward }) => feedForward);
  const dense = parts.find((part): part is Dense => part?.kind === 'dense');
  const experts = parts.find((part): part is Experts => part?.kind === 'experts');
  const sizes = kinds.map(networkSize).filter((size) => size !== undefined);
  if (experts === undefined) return [['feed_forward_length', perLayer(sizes)]];
  const { mixture } = familyOf(architecture);
  const { size, router, shared } = experts;
  const isOwn = mixture?.size === 'expert_feed_forward_length';
  const usual = count(dense?.size ?? (isOwn ? size * router.used : size));
  const leading = dense === undefined ? 0 : parts.indexOf(experts);
  return [
    ['feed_forward_length', sizes.length === kinds.length ? perLayer(sizes) : usual],
    ['expert_count', count(router.experts)],
    ['expert_used_count', count(router.used)],
    ...(isOwn ? ([['expert_feed_forward_length', count(size)]] as const) : []),
    ...(shared === undefined ? [] : ([['expert_shared_feed_forward_length', count(shared.size)]] as const)),
    ...(shared === undefined || !mixture?.fromFile
      ? []
      : [['expert_shared_count', count(Math.ceil(shared.size / size))] as const]),
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
