import type { GgufTensor } from '../../gguf/gguf.ts';
import { predictionBlock } from '../../gguf/prediction-block.ts';
import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import { loadMatrix, readVector, type WeightsSource, weightsLoader } from '../weights/transformer-weights.ts';
import { createActivations } from './activations.ts';
import { contextOf } from './context-cache.ts';
import { embedOperations, outputPart } from './forward.ts';
import { layerBatches, passSegments } from './layer-batches.ts';
import { BATCH_TOKENS, runTogether } from './passes.ts';
import type { Rotations } from './rotations.ts';
import type { StateHistory } from './state-history.ts';
import type { Prediction } from './transformer.ts';

export interface PredictionBlockOptions {
  readonly source: WeightsSource;
  readonly model: Model;
  readonly settings: TransformerSettings;
  readonly rotations: Rotations;
  readonly kvCache: KvFormat;
  /** Tokens of a text, with those that are drafted after it. */
  readonly contextLength: number;
  /** The model's hidden states of the same text. */
  readonly states: StateHistory;
}

/**
 * A model's own prediction block. It reads the token and the model's hidden state of the one before; beyond the tokens that the model has evaluated, its
 * own state takes that place, after its output norm. A text's first token, which has no state before it, is not read.
 * States come after the model's output norm, as in Qwen3.5 and GLM; a block that was trained with other states drafts worse.
 * @throws InputError as predictionBlock does
 */
export function createPredictionBlock(options: PredictionBlockOptions): Prediction {
  const { source, model, settings, rotations, kvCache, contextLength, states } = options;
  const { kernels, gguf, bytes } = source;
  const { hiddenSize, vocabularySize } = model;
  const block = predictionBlock(gguf, model);
  const tensors = new Map(gguf.tensors.map((tensor) => [tensor.name, tensor]));
  const matrix = (name: string) => loadMatrix(source, tensors.get(name) as GgufTensor);
  const vector = (name: string) => kernels.vector(readVector(bytes, tensors.get(name) as GgufTensor));
  const weights = weightsLoader(source, block.shape).layer(block.layer);
  const [join, table] = [matrix(block.join), matrix(block.embedding).matrix];
  const [embeddingNorm, stateNorm] = [vector(block.embeddingNorm), vector(block.stateNorm)];
  const output = { outputNorm: vector(block.outputNorm), output: matrix(block.output) };

  const shape = { ...block.shape, layers: 1, kinds: [weights.kind] };
  const { normEpsilon: epsilon } = settings;
  const layerSettings = { shape, normEpsilon: epsilon, rotations };
  const most = Math.min(BATCH_TOKENS, contextLength);
  const activationsOf = createActivations(kernels, shape, rotations, most);
  const allBefore = kernels.vector(most * hiddenSize);
  const allJoined = kernels.vector(most * 2 * hiddenSize);
  const logits = kernels.vector(vocabularySize);
  const cache = contextOf(kernels, shape, { type: kvCache, capacity: contextLength });
  /** States of tokens that only the block has read. */
  const own = new Map<number, Float32Array>();
  let read = 0;

  /** Reads tokens, at least one, the first at `position` of the text, from 1 on. */
  const pass = (tokens: readonly number[], position: number): void => {
    const count = tokens.length;
    const activations = activationsOf(count);
    const { x, h } = activations;
    const before = allBefore.slice(0, count * hiddenSize);
    const joined = allJoined.slice(0, count * 2 * hiddenSize);
    for (let index = 0; index < count; index++) {
      const place = position + index - 1;
      const state = place < states.known ? states.of(place) : own.get(place);
      if (state === undefined) before.values.fill(0, index * hiddenSize, (index + 1) * hiddenSize);
      else before.values.set(state, index * hiddenSize);
    }
    const half = (from: typeof x, first: number): Operation => ({
      kind: 'copy-columns',
      x: { values: from, width: hiddenSize, first: 0 },
      y: { values: joined, width: 2 * hiddenSize, first },
      columns: hiddenSize,
    });
    // A text's second token is the first that is read.
    const segments = passSegments(layerSettings, activations, [{ cache, position: position - 1, tokens: count }]);
    cache.begin(count, position - 1);
    const wanted = [{ first: count - 1, count: 1 }];
    runTogether(kernels, [
      {
        operations: [
          ...embedOperations(shape, { table, tokens, y: x }),
          { kind: 'rms-norm', x, weight: embeddingNorm, y: x, epsilon },
          { kind: 'rms-norm', x: before, weight: stateNorm, y: before, epsilon },
          ...[half(x, 0), half(before, hiddenSize)],
          { kind: 'multiply', ...join, x: joined, y: x },
        ],
      },
      layerBatches(layerSettings, weights, 0, { activations, segments }),
      ...outputPart({ layerSettings, weights: output, activations, logits, wanted }),
    ]);
    own.set(position + count - 1, h.values.slice(0, hiddenSize));
  };

  const prefix = `blk.${block.layer}.`;
  const isRead = ({ name }: GgufTensor): boolean => name.startsWith(prefix) || name === block.output;
  return {
    contextLength,
    bytes: gguf.tensors.filter(isRead).reduce((sum, tensor) => sum + tensor.bytes, 0),
    get position() {
      return read;
    },
    rewind(position) {
      for (const place of own.keys()) if (place >= position) own.delete(place);
      cache.rewind(Math.max(0, position - 1));
      read = position;
    },
    evaluate(tokens) {
      logits.values.fill(0);
      for (let from = read === 0 ? 1 : 0; from < tokens.length; from += most)
        pass(tokens.slice(from, from + most), read + from);
      read += tokens.length;
      return logits.values;
    },
  };
}
