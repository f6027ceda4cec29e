import { type Shape, type UniformArchitecture, type UniformShape, uniformShape } from '../../model/architecture.ts';
import type { LayerKind } from '../../model/block.ts';
import { type FileMix, fileQuantization } from '../../model/mix.ts';
import type { TensorHeading } from '../encode-header.ts';
import { fileTypeNumber } from '../file-type.ts';
import type { Metadata, MetadataValue } from '../metadata-value.ts';
import { type NamedTensor, namedTensors } from '../tensor-names.ts';
import { tokenizerMetadata } from './tokenizer.ts';

/** A model of a few MB with every part of a large one, for tests and experiments. */
export const TINY: UniformShape = {
  name: 'tiny',
  architecture: 'llama',
  layers: 2,
  hiddenSize: 256,
  ffnSize: 512,
  heads: 8,
  kvHeads: 2,
  headSize: 32,
  vocabularySize: 1024,
  tiedEmbeddings: false,
  qkvBias: false,
};
export const TINY_SHAPE: Shape = uniformShape(TINY);

/** A file without its weights: the metadata of its header, and its tensors. */
export interface MadeModel {
  readonly metadata: Metadata;
  readonly tensors: readonly (NamedTensor & TensorHeading)[];
}

/** For a shape that doesn't say what its model was trained for: long enough for every workload here. */
const CONTEXT = 4096;

/** As published for each family that models are made of. */
const PUBLISHED: Readonly<Record<UniformArchitecture, { readonly ropeBase: number; readonly normEpsilon: number }>> = {
  llama: { ropeBase: 10_000, normEpsilon: 1e-5 },
  qwen2: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  qwen3: { ropeBase: 1_000_000, normEpsilon: 1e-6 },
  internlm2: { ropeBase: 1_000_000, normEpsilon: 1e-5 },
};

/**
 * Metadata and tensors of a model with random weights.
 * @param shape of a uniform architecture; its vocabulary has at least SMALLEST_VOCABULARY tokens
 */
export function madeModel(shape: Shape, mix: FileMix): MadeModel {
  if (!(shape.architecture in PUBLISHED)) throw new RangeError(`models of ${shape.architecture} can't be made`);
  const tensors = namedTensors(shape).map((tensor) => ({ ...tensor, type: fileQuantization(tensor, shape, mix) }));
  return { metadata: new Map([...modelMetadata(shape, mix), ...tokenizerMetadata(shape.vocabularySize)]), tensors };
}

function modelMetadata(shape: Shape, mix: FileMix): [string, MetadataValue][] {
  const { architecture } = shape;
  const { ropeBase, normEpsilon } = PUBLISHED[architecture as UniformArchitecture];
  const { attention, feedForward } = shape.kinds[0] as LayerKind;
  const count = (value: number): MetadataValue => ({ type: 'uint32', value });
  const amount = (value: number): MetadataValue => ({ type: 'float32', value });
  const fileType = fileTypeNumber(mix);
  return [
    ['general.architecture', { type: 'string', value: architecture }],
    ['general.name', { type: 'string', value: shape.name }],
    ['general.description', { type: 'string', value: 'random weights, made by hearth make-model' }],
    ...(fileType === undefined ? [] : [['general.file_type', count(fileType)] satisfies [string, MetadataValue]]),
    [`${architecture}.context_length`, count(shape.trainedContext ?? CONTEXT)],
    [`${architecture}.block_count`, count(shape.layers)],
    [`${architecture}.embedding_length`, count(shape.hiddenSize)],
    [`${architecture}.feed_forward_length`, count(feedForward.size)],
    [`${architecture}.attention.head_count`, count(attention.heads)],
    [`${architecture}.attention.head_count_kv`, count(attention.kvHeads)],
    [`${architecture}.attention.key_length`, count(attention.headSize)],
    [`${architecture}.attention.value_length`, count(attention.headSize)],
    [`${architecture}.attention.layer_norm_rms_epsilon`, amount(normEpsilon)],
    [`${architecture}.rope.dimension_count`, count(attention.headSize)],
    [`${architecture}.rope.freq_base`, amount(ropeBase)],
    [`${architecture}.vocab_size`, count(shape.vocabularySize)],
  ];
}
