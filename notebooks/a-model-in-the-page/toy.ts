import { encodeHeader, paddingAfter } from '../../engine/gguf/encode-header.ts';
import { quantize } from '../../engine/gguf/formats/formats.ts';
import { madeModel } from '../../engine/gguf/make/made-model.ts';
import { randomWeights } from '../../engine/gguf/make/random-weights.ts';
import { SMALLEST_VOCABULARY } from '../../engine/gguf/make/tokenizer.ts';
import type { NamedTensor } from '../../engine/gguf/tensor-names.ts';
import { type Shape, type UniformShape, uniformShape } from '../../engine/model/architecture.ts';
import type { Quantization } from '../../engine/model/quantization.ts';

/** A llama of a third of a million weights, whose tokens are bytes: a page runs it in milliseconds. */
export const TOY: UniformShape = {
  name: 'toy',
  architecture: 'llama',
  layers: 6,
  hiddenSize: 64,
  ffnSize: 192,
  heads: 4,
  kvHeads: 2,
  headSize: 16,
  vocabularySize: SMALLEST_VOCABULARY,
  tiedEmbeddings: true,
  qkvBias: false,
};
export const TOY_SHAPE = uniformShape(TOY);

/** Contents of a file of the toy's architecture. */
export interface ToyFile {
  readonly shape: Shape;
  readonly type: Quantization;
  readonly description: string;
  readonly weights: (tensor: NamedTensor) => Float32Array;
}

/** A GGUF file with a byte-level tokenizer, in memory. */
export function encodeToy({ shape, type, description, weights }: ToyFile): Uint8Array {
  const { metadata, tensors } = madeModel(shape, type);
  const described = new Map([
    ...metadata,
    ['general.description', { type: 'string', value: description }] as const,
    // The model is trained on text alone.
    ['tokenizer.ggml.add_bos_token', { type: 'bool', value: false }] as const,
  ]);
  const parts = [encodeHeader(described, tensors)];
  for (const tensor of tensors) {
    const bytes = quantize(tensor.type, weights(tensor));
    parts.push(bytes, new Uint8Array(paddingAfter(bytes.length)));
  }
  const file = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    file.set(part, at);
    at += part.length;
  }
  return file;
}

/** A toy in Q8_0 with random weights. */
export function randomToy(seed: number): Uint8Array {
  const draw = randomWeights(TOY_SHAPE, seed);
  const weights = (tensor: NamedTensor) => draw({ tensor, from: 0, count: tensor.rows * tensor.columns });
  return encodeToy({ shape: TOY_SHAPE, type: 'Q8_0', description: 'random weights', weights });
}
