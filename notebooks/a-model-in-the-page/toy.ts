import { encodeHeader, paddingAfter } from '../../engine/gguf/encode-header.ts';
import { quantize } from '../../engine/gguf/formats/formats.ts';
import { madeModel } from '../../engine/gguf/make/made-model.ts';
import { randomWeights } from '../../engine/gguf/make/random-weights.ts';
import { SMALLEST_VOCABULARY } from '../../engine/gguf/make/tokenizer.ts';
import type { Shape } from '../../engine/model/architecture.ts';

/** A llama of a third of a million weights, whose tokens are bytes: a page runs it in milliseconds. */
export const TOY_SHAPE: Shape = {
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

/** A GGUF file of the toy's shape in Q8_0, with random weights. */
export function randomToy(seed: number): Uint8Array {
  const { metadata, tensors } = madeModel(TOY_SHAPE, 'Q8_0');
  const weights = randomWeights(TOY_SHAPE, seed);
  const parts = [encodeHeader(metadata, tensors)];
  for (const tensor of tensors) {
    const bytes = quantize(tensor.type, weights({ tensor, from: 0, count: tensor.rows * tensor.columns }));
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
