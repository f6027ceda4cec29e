import { withFile } from '../../gguf/file-source.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { transformerSettings } from '../../gguf/transformer-settings.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import { readVector, weightsLoader } from '../../runtime/load-weights.ts';
import { createModelPart, type ModelPart } from '../../runtime/model-part.ts';
import { rotaryEmbedding } from '../../runtime/rotary-embedding.ts';
import { activationsBytes } from '../../runtime/transformer-bytes.ts';
import { type MappedWeights, mappedWeights, type WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import { weightsLayout } from '../../runtime/weights/weights-layout.ts';
import { type HeldLayers, heldLayers } from './held-layers.ts';
import { readPartFile } from './part-file.ts';
import { type WeightsSamples, weightsSamples } from './weights-samples.ts';

/** A model, or a part of one, as a device of a ring has it. */
export interface LoadedPart {
  readonly part: ModelPart;
  readonly held: HeldLayers;
  readonly identity: string;
  /** Of the weights in the file, and of those that a part knows of besides. */
  readonly samples: WeightsSamples;
  /** Of activations and of logits, bytes. */
  readonly activationsBytes: number;
  /** Its weights in the page cache; undefined where the kernels hold them in memory of their own. */
  mapWeights(recorder: WeightsRecorder | undefined): MappedWeights | undefined;
  close(): void;
}

/**
 * Opens a file of weights; layers are loaded when a plan asks for them.
 * @param mostTokens that go through the layers at once
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
  // The file is opened again for each run of vectors: workers live long, and none of its layers may be needed yet.
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
