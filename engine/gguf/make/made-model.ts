import { type Shape, type UniformShape, uniformShape } from '../../model/architecture.ts';
import { type FileMix, fileQuantization } from '../../model/mix.ts';
import { familyOf } from '../architectures/families.ts';
import type { TensorHeading } from '../encode-header.ts';
import { fileTypeNumber } from '../file-type.ts';
import type { Metadata, MetadataValue } from '../metadata-value.ts';
import { type NamedTensor, namedTensors, OTHER_OUTPUT_NORM } from '../tensor-names.ts';
import { shapeMetadata } from './shape-metadata.ts';
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

/**
 * Metadata and tensors of a model with random weights.
 * @param shape its vocabulary has at least SMALLEST_VOCABULARY tokens
 * @throws InputError for families of which no models are made
 */
export function madeModel(shape: Shape, mix: FileMix): MadeModel {
  const { otherOutputNorm } = familyOf(shape.architecture);
  const tensors = namedTensors(shape).map((tensor) => ({
    ...tensor,
    shape: isColumn(tensor, shape) ? [1, ...tensor.shape] : tensor.shape,
    name: tensor.role === 'output_norm' && otherOutputNorm ? OTHER_OUTPUT_NORM : tensor.name,
    type: fileQuantization(tensor, shape, mix),
  }));
  return { metadata: new Map([...modelMetadata(shape, mix), ...tokenizerMetadata(shape.vocabularySize)]), tensors };
}

/** Whether files have a vector as a matrix of one column, without which llama.cpp doesn't load them: those of Mamba-2. */
function isColumn({ role, layer }: NamedTensor, { kinds }: Shape): boolean {
  const { mixer } = (layer === undefined ? undefined : kinds[layer]) ?? {};
  return mixer?.kind === 'mamba' && (role === 'ssm_a' || role === 'ssm_d');
}

function modelMetadata(shape: Shape, mix: FileMix): [string, MetadataValue][] {
  const fileType = fileTypeNumber(mix);
  return [
    ['general.architecture', { type: 'string', value: shape.architecture }],
    ['general.name', { type: 'string', value: shape.name }],
    ['general.description', { type: 'string', value: 'random weights, made by hearth make-model' }],
    ...(fileType === undefined
      ? []
      : [['general.file_type', { type: 'uint32', value: fileType }] satisfies [string, MetadataValue]]),
    ...shapeMetadata(shape),
  ];
}
