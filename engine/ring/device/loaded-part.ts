import { withFile } from '../../gguf/file-source.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { transformerSettings } from '../../gguf/transformer-settings.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import { createModelPart, type ModelPart } from '../../runtime/model-part.ts';
import { rotaryEmbedding } from '../../runtime/rotary-embedding.ts';
import { activationsBytes } from '../../runtime/transformer-bytes.ts';
import { readVector, weightsLoader } from '../../runtime/transformer-weights.ts';
import { type MappedWeights, mappedWeights, type WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import { weightsLayout } from '../../runtime/weights/weights-layout.ts';
import { type HeldLayers, heldLayers, readPartFile, type WeightsSamples, weightsSamples } from './part-file.ts';

/** A model, or a part of one, as loaded by a device of a ring. */
export interface LoadedPart {
  readonly part: ModelPart;
  readonly held: HeldLayers;
  /** SHA-256 of the whole model's header, hexadecimal. */
  readonly identity: string;
  /** Samples of the weights in the file, and of the others that a part lists. */
  readonly samples: WeightsSamples;
  /** Bytes of activations and logits. */
  readonly activationsBytes: number;
  /** Its weights in the page cache; `undefined` if the kernels hold them in their own memory. */
  mapWeights(recorder: WeightsRecorder | undefined): MappedWeights | undefined;
  close(): void;
}

/**
 * Opens a file of weights. Layers are loaded when a plan needs them.
 * @param mostTokens the most tokens that go through a layer at once
 * @throws InputError as loadTransformer does
 */
export function loadPart(path: string, kernels: Kernels, mostTokens: number): LoadedPart {
  const gguf = withFile(path, readGguf);
  const file = readPartFile(gguf);
  const model = modelFromGguf(file.whole);
  const settings = transformerSettings(file.whole, model);
  const factors = gguf.tensors.find(({ name }) => name === 'rope_freqs.weight');
  const values = factors && withFile(path, (bytes) => readVector(bytes, factors));
  const rotary = rotaryEmbedding(file.whole, model, settings, values);
  const mapped = kernels.mapFile(path);
  // Opens the file again for each layer: a worker lives long and may not need most layers.
  const weights = {
    layer: (index: number) =>
      withFile(path, (bytes) => weightsLoader({ gguf, bytes, file: mapped, kernels }, model).layer(index)),
    outer: () => withFile(path, (bytes) => weightsLoader({ gguf, bytes, file: mapped, kernels }, model).outer()),
  };
  const part = createModelPart({ model, settings, rotary, weights, kernels, mostTokens });
  return {
    part,
    held: heldLayers(file),
    identity: file.identity,
    samples: new Map([...file.samples, ...withFile(path, (source) => weightsSamples(source, gguf.tensors))]),
    activationsBytes: activationsBytes(model, settings.ropeDimensions, mostTokens),
    mapWeights: (recorder) =>
      kernels.name === 'native' ? mappedWeights(kernels, mapped, weightsLayout(gguf, model), recorder) : undefined,
    close: () => kernels.close(),
  };
}
