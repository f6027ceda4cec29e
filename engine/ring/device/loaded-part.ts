import { statSync } from 'node:fs';
import { partPaths } from '../../gguf/file-parts.ts';
import { openFile } from '../../gguf/file-source.ts';
import type { GgufTensor } from '../../gguf/gguf.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { transformerSettings } from '../../gguf/transformer-settings.ts';
import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MappedFile } from '../../kernels/matrix.ts';
import type { LayerSlice } from '../../plan/tensor-slices.ts';
import { activationsBytes } from '../../runtime/load/transformer-bytes.ts';
import { readRotations } from '../../runtime/pass/rotations.ts';
import { createSlicedLayers, type SlicedLayers } from '../../runtime/pass/sliced-layers.ts';
import { createModelPart, type ModelPart, type ModelPartOptions } from '../../runtime/split/model-part.ts';
import { totalBytes } from '../../runtime/weights/byte-ranges.ts';
import { type MappedWeights, mappedWeights, type WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import { matricesOf } from '../../runtime/weights/matrices-of.ts';
import type { PlacedExperts } from '../../runtime/weights/placed-experts.ts';
import {
  type SliceBytes,
  type WeightsLoader,
  type WeightsSource,
  weightsLoader,
} from '../../runtime/weights/transformer-weights.ts';
import { type WeightsPart, weightsLayout } from '../../runtime/weights/weights-layout.ts';
import { type HeldLayers, heldLayers, readPartFile } from './part-file.ts';
import { keptWeightsDigests, otherWeights, type WeightsDigests } from './weights-digests.ts';

/** A model, or a part of one, as loaded by a device of a ring. */
export interface LoadedPart {
  readonly part: ModelPart;
  readonly held: HeldLayers;
  /** SHA-256 of the whole model's header, hexadecimal. */
  readonly identity: string;
  /** Digests of the weights in the file, and of the others that a part lists. */
  readonly digests: WeightsDigests;
  /** Bytes of activations and logits. */
  readonly activationsBytes: number;
  /** Takes the rotations of a run whose requests have room for this many tokens. */
  useContext(context: number): void;
  readonly path: string;
  /** The kernels on which `part` computes. */
  readonly kernels: Kernels;
  /**
   * The same part on other kernels, such as a GPU's. They are the caller's to close.
   * @throws Error as mapOn does
   */
  partOn(kernels: Kernels, options?: PartOnOptions): ModelPart;
  /** Its weights on other kernels, piece by piece. @throws Error as mapOn does */
  weightsOn(kernels: Kernels): WeightsLoader;
  /** Slices of all layers of its file on other kernels, for passes of this many tokens. */
  slicedOn(kernels: Kernels, slices: readonly LayerSlice[], mostTokens: number): SlicedLayers;
  /** Bytes and places of a slice of a layer. */
  sliceBytes(layer: number, slice: LayerSlice): SliceBytes;
  /** Its file, mapped by other kernels. @throws Error if another file has taken its path since it was loaded */
  mapOn(kernels: Kernels): MappedFile;
  /** Places in the file of the experts of a layer that it holds; `undefined` for a layer without. */
  experts(layer: number): PlacedExperts | undefined;
  /** Matrices in the file, of a layer or of the output layer. */
  matricesOf(part: number | 'output'): readonly GgufTensor[];
  /** Bytes of the file that are of a part. */
  bytesOf(part: WeightsPart): number;
  /** Its weights in the page cache; `undefined` if the kernels hold them in their own memory. */
  mapWeights(recorder: WeightsRecorder | undefined): MappedWeights | undefined;
  close(): void;
}

export interface PartOnOptions extends Pick<ModelPartOptions, 'beforeLayer' | 'cut'> {
  /** Place of a matrix's bytes when it is used; `undefined`: in the file. */
  readonly place?: WeightsSource['place'];
}

/** Devices and inodes of the files of a model, which tell them from others at their paths. */
function fileIdentity(path: string): string {
  return partPaths(path)
    .map((part) => {
      const { dev, ino } = statSync(part, { bigint: true });
      return `${dev}/${ino}`;
    })
    .join();
}

/**
 * Opens a file of weights. Layers are loaded when a plan needs them.
 * @param mostTokens the most tokens that go through a layer at once
 * @param log called before a long file is read as a whole
 * @throws InputError as loadTransformer does, and for a part whose weights aren't those that were split
 */
export function loadPart(
  path: string,
  kernels: Kernels,
  mostTokens: number,
  log: (line: string) => void = () => {},
): LoadedPart {
  // Stays open: a file that replaces it, perhaps with other weights, is not mixed into later assemblies of the ring.
  const { source, close } = openFile(path);
  const gguf = readGguf(source);
  const file = readPartFile(gguf);
  const model = modelFromGguf(file.whole);
  const digests = keptWeightsDigests(path, { source, tensors: gguf.tensors }, log);
  const damaged = otherWeights(digests, file.digests);
  if (damaged !== undefined)
    throw new InputError(path, `is damaged: its ${damaged} is not what was split; write it again by hearth split`);
  const settings = transformerSettings(file.whole, model);
  // Divisors of angles are in every part.
  const header = { ...file.whole, tensors: gguf.tensors };
  let rotations = readRotations(header, source, model, settings.contextLength);
  const mapped = kernels.mapFile(path);
  const layout = weightsLayout(gguf, model);
  const loaderOn = (computing: Kernels, file: MappedFile, place?: WeightsSource['place']): WeightsLoader =>
    weightsLoader({ gguf, bytes: source, file, kernels: computing, ...(place && { place }) }, model);
  const partOf = (
    computing: Kernels,
    weights: WeightsLoader,
    own: Pick<ModelPartOptions, 'beforeLayer' | 'cut'> = {},
  ): ModelPart =>
    createModelPart({ model, settings, rotations: () => rotations, weights, kernels: computing, mostTokens, ...own });
  const own = loaderOn(kernels, mapped);
  const identity = fileIdentity(path);
  const mapOn = (other: Kernels): MappedFile => {
    const again = other.mapFile(path);
    if (fileIdentity(path) !== identity)
      throw new Error(
        `another file has taken the place of ${path} since it was loaded; start it again to use that one`,
      );
    return again;
  };
  return {
    kernels,
    part: partOf(kernels, own),
    partOn: (computing, { place, ...own } = {}) => partOf(computing, loaderOn(computing, mapOn(computing), place), own),
    path,
    weightsOn: (computing) => loaderOn(computing, mapOn(computing)),
    slicedOn: (computing, slices, most) =>
      createSlicedLayers({
        ...{ kernels: computing, shape: model, normEpsilon: settings.normEpsilon, rotations, slices, mostTokens: most },
        weights: loaderOn(computing, mapOn(computing)),
      }),
    sliceBytes: own.sliceBytes,
    mapOn,
    matricesOf: (part) => matricesOf(gguf, model, part),
    experts(layer) {
      const { feedForward } = model.kinds[layer] ?? {};
      if (feedForward?.kind !== 'experts') return undefined;
      return { experts: feedForward.router.experts, matrices: own.expertBytes(layer) };
    },
    bytesOf: (part) => totalBytes(layout.ranges(part)),
    useContext(context) {
      rotations = readRotations(header, source, model, context);
    },
    held: heldLayers(file),
    identity: file.identity,
    digests: new Map([...file.digests, ...digests]),
    activationsBytes: activationsBytes(model, rotations, mostTokens),
    mapWeights: (recorder) =>
      kernels.name === 'native' ? mappedWeights(kernels, mapped, layout, recorder) : undefined,
    close() {
      kernels.close();
      close();
    },
  };
}
