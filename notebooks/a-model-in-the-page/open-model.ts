import { bufferSource } from '../../engine/gguf/byte-source.ts';
import { modelFromGguf } from '../../engine/gguf/model-from-gguf.ts';
import { readGguf } from '../../engine/gguf/read-gguf.ts';
import { transformerSettings } from '../../engine/gguf/transformer-settings.ts';
import type { Kernels } from '../../engine/kernels/kernels.ts';
import type { AttentionOperation, Operation } from '../../engine/kernels/operation.ts';
import { attentionWeights } from '../../engine/kernels/reference/attention.ts';
import { kernelsInMemory } from '../../engine/kernels/reference/kernels-in-memory.ts';
import type { ReferenceMemory } from '../../engine/kernels/reference/memory.ts';
import type { Vector } from '../../engine/kernels/vector.ts';
import type { Model } from '../../engine/model/model.ts';
import { contextOf } from '../../engine/runtime/pass/context-cache.ts';
import { outputPart } from '../../engine/runtime/pass/forward.ts';
import { createPasses } from '../../engine/runtime/pass/passes.ts';
import { readRotations } from '../../engine/runtime/pass/rotations.ts';
import type { PassHooks, Transformer } from '../../engine/runtime/pass/transformer.ts';
import { createTransformer } from '../../engine/runtime/texts/create-transformer.ts';
import { loadWeights } from '../../engine/runtime/weights/transformer-weights.ts';
import { weightsLayout, weightsPartOf } from '../../engine/runtime/weights/weights-layout.ts';
import { createResidency, type Pass, type Way } from './residency.ts';

/** Observations of a model while it runs. */
export interface Seen {
  readonly passes: Pass[];
  /** By layer and head: for every token the weights of the positions up to its own. [layers][heads][tokens][positions] */
  readonly attention: number[][][][];
  /**
   * Logits if the model ended early: by the layers it had run, from none to all, and for every token.
   * [layers + 1][tokens][vocabulary]
   */
  readonly logits: Float32Array[][];
}

export interface OpenedModel {
  readonly transformer: Transformer;
  readonly seen: Seen;
  /** The file's description of itself. */
  readonly description: string;
}

export interface ToOpen {
  /** A GGUF file, whose tokens are bytes. */
  readonly file: Uint8Array;
  readonly contextLength: number;
  /** Layers that fit in memory. */
  readonly room: number;
  readonly way: Way;
}

/**
 * Opens a model in the page: the engine's forward pass on its reference kernels. The file is the disk. A layer is
 * computed from a copy of its bytes, which is made when the layer is read, and is zeros after the layer has been evicted.
 */
export function openModel({ file, contextLength, room, way }: ToOpen): OpenedModel {
  const bytes = bufferSource('toy.gguf', file);
  const gguf = readGguf(bytes);
  const model = modelFromGguf(gguf);
  const settings = transformerSettings(gguf, model);
  const rotations = readRotations(gguf, bytes, model, contextLength);
  const memory: ReferenceMemory = { matrices: [], caches: [] };
  const kernels = kernelsInMemory(memory);
  const seen: Seen = {
    passes: [],
    attention: Array.from({ length: model.layers }, () => Array.from({ length: model.mean.heads }, () => [])),
    logits: Array.from({ length: model.layers + 1 }, () => []),
  };
  const layout = weightsLayout(gguf, model);
  const resident = new Uint8Array(file.length);
  const copy = (part: number | 'embedding' | 'output', isKept: boolean): void => {
    for (const { from, to } of layout.ranges(part))
      isKept ? resident.set(file.subarray(from, to), from) : resident.fill(0, from, to);
  };
  copy('embedding', true);
  copy('output', true);
  const place = ({ offset }: { readonly offset: number }) => ({ source: resident, offset });
  const mapped = { id: 0, path: bytes.name, size: file.length };
  const weights = loadWeights({ gguf, bytes, file: mapped, place, kernels }, model);
  const residency = createResidency(model.layers, room, way);
  let wasRead: boolean[] = [];
  const streaming: PassHooks = {
    before(part) {
      const layer = weightsPartOf(part);
      if (typeof layer !== 'number') return;
      wasRead.push(residency.use(layer));
      for (let other = 0; other < model.layers; other++) {
        if (other !== layer && !residency.has(other)) copy(other, false);
      }
      if (wasRead.at(-1)) copy(layer, true);
    },
    after({ name, tokens }) {
      if (name !== `layer ${model.layers - 1}`) return;
      seen.passes.push({ tokens, wasRead });
      wasRead = [];
    },
  };
  const layerSettings = { shape: model, normEpsilon: settings.normEpsilon, rotations };
  const logitsAfter = (x: Vector): Float32Array[] => {
    const tokens = x.values.length / model.hiddenSize;
    const logits = kernels.vector(tokens * model.vocabularySize);
    const wanted = [{ first: 0, count: tokens }];
    const activations = { x, h: kernels.vector(x.values.length) };
    for (const { operations } of outputPart({ layerSettings, weights, activations, logits, wanted }))
      kernels.run(operations);
    return rowsOf(logits.values, model.vocabularySize);
  };
  const watched = watch({ kernels, memory, model, seen, logitsAfter });
  const passes = createPasses({
    ...{ model, settings, rotations, weights },
    kernels: watched,
    mostTokens: contextLength,
    hooks: [streaming],
  });
  const cache = contextOf(watched, model, { capacity: contextLength, type: 'F32' });
  const transformer = createTransformer({ model, settings, contextLength, passes, cache });
  const description = gguf.fields.optionalText('general.description') ?? '';
  return { transformer, seen, description };
}

/** Bits that the model needs for each token after the first: −log₂ of the probability that it gave it. */
export function bitsPerByte({ logits }: Pick<Seen, 'logits'>, tokens: readonly number[]): number {
  const bits = tokens.slice(1).map((token, before) => {
    const row = logits.at(-1)?.[before] as Float32Array;
    const largest = row.reduce((most, logit) => Math.max(most, logit), Number.NEGATIVE_INFINITY);
    const total = row.reduce((sum, logit) => sum + Math.exp(logit - largest), 0);
    return (Math.log(total) + largest - (row[token] as number)) / Math.LN2;
  });
  return bits.reduce((sum, one) => sum + one, 0) / bits.length;
}

interface Watched {
  readonly kernels: Kernels;
  readonly memory: ReferenceMemory;
  readonly model: Model;
  readonly seen: Seen;
  /** The logits that the output layer makes of the residual stream. */
  readonly logitsAfter: (x: Vector) => Float32Array[];
}

/** The same kernels, with a look at each part of a pass when it has run. */
function watch({ kernels, memory, model, seen, logitsAfter }: Watched): Kernels {
  let layersRun = 0;
  const look = (operation: Operation): void => {
    if (operation.kind === 'embed') layersRun = 0;
    else if (operation.kind === 'attention') lookAtHeads(operation, layersRun++);
    const adds = operation.kind === 'multiply' && operation.accumulate === true;
    if (operation.kind === 'embed' || (adds && operation.matrix.columns === model.mean.ffnSize))
      seen.logits[layersRun]?.push(...logitsAfter(operation.y));
  };
  const lookAtHeads = (operation: AttentionOperation, layer: number): void => {
    const rows = operation.queries.values.length / model.mean.headSize;
    for (let row = 0; row < rows; row++)
      seen.attention[layer]?.[row % model.mean.heads]?.push([...attentionWeights(memory, operation, row)]);
  };
  return {
    ...kernels,
    run(operations) {
      kernels.run(operations);
      for (const operation of operations) look(operation);
    },
  };
}

function rowsOf(values: Float32Array, width: number): Float32Array[] {
  return Array.from({ length: values.length / width }, (_, row) => values.slice(row * width, (row + 1) * width));
}
