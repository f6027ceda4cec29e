import { join } from 'node:path';
import { quantize } from '../../engine/gguf/formats/formats.ts';
import { madeModel, TINY } from '../../engine/gguf/make/made-model.ts';
import { randomWeights } from '../../engine/gguf/make/random-weights.ts';
import type { MetadataValue } from '../../engine/gguf/metadata-value.ts';
import { type TensorSource, writeGguf } from '../../engine/gguf/write-gguf.ts';
import { type UniformShape, uniformShape } from '../../engine/model/architecture.ts';
import type { FileMix } from '../../engine/model/mix.ts';

export interface MadeFile {
  readonly folder: string;
  readonly name: string;
  readonly shape?: Partial<UniformShape>;
  readonly mix?: FileMix;
  /** Entries that are added to the made ones or replace them. */
  readonly metadata?: readonly [string, MetadataValue][];
  /** Returns the tensors to write in place of the made ones. */
  readonly edit?: (tensors: readonly TensorSource[]) => readonly TensorSource[];
}

/** As few tokens as the tokenizer allows, so that logits are computed quickly. */
const SMALL: UniformShape = { ...TINY, vocabularySize: 260 };

/** Writes a small model with random weights as make-model does, with the given changes; returns its path. */
export async function madeFile({ folder, name, mix = 'F32', metadata = [], ...options }: MadeFile): Promise<string> {
  const shape = uniformShape({ ...SMALL, name, ...options.shape });
  const made = madeModel(shape, mix);
  const weights = randomWeights(shape, 1);
  const tensors = made.tensors.map((tensor): TensorSource => {
    const count = tensor.rows * tensor.columns;
    return { ...tensor, pieces: () => [quantize(tensor.type, weights({ tensor, from: 0, count }))] };
  });
  const path = join(folder, `${name}.gguf`);
  await writeGguf(path, new Map([...made.metadata, ...metadata]), options.edit?.(tensors) ?? tensors);
  return path;
}

/** A vector of floats as a tensor. */
export function floatVector(name: string, values: readonly number[]): TensorSource {
  const bytes = new Uint8Array(Float32Array.from(values).buffer);
  return { name, shape: [values.length], type: 'F32', pieces: () => [bytes] };
}
