import { openFile } from '../../gguf/file-source.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { transformerSettings } from '../../gguf/transformer-settings.ts';
import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { Vector } from '../../kernels/vector.ts';
import { checkKvFormat, DEFAULT_KV_FORMAT, type KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import type { TensorPartition } from '../../plan/tensor-partition.ts';
import { noNumbers } from '../observed/no-numbers.ts';
import { createActivations } from '../pass/activations.ts';
import { contextOf } from '../pass/context-cache.ts';
import { allFinite } from '../pass/finite-logits.ts';
import { embedOperations, outputPart } from '../pass/forward.ts';
import { layerBatches, passSegments } from '../pass/layer-batches.ts';
import { readRotations } from '../pass/rotations.ts';
import { loadWeights, weightsLoader } from '../weights/transformer-weights.ts';
import { createCutOperations } from './cut-operations.ts';
import { kernelsAsSecond, type SecondProcessor } from './second-processor.ts';

export interface PartitionOptions {
  /** Computes on this thread: everything but its counterpart's parts of products. */
  readonly main: Kernels;
  /**
   * Stands for the NPU of a plan: computes its parts of products meanwhile. Kernels, such as a GPU's, hand over by copies
   * and are waited for (naive synchronisation).
   */
  readonly second: Kernels | SecondProcessor;
  readonly partition: TensorPartition;
  /** Tokens that the KV cache holds. */
  readonly context: number;
  /** Default: F16. */
  readonly kvCache?: KvFormat;
}

/** A model whose products two processors of one machine share. */
export interface PartitionedTransformer {
  readonly model: Model;
  readonly position: number;
  /**
   * Evaluates a token, or a prompt as long as the partition is for.
   * @returns the logits of the last: [vocabulary], in memory that the next call overwrites
   * @throws InputError for a prompt of another length, or if the tokens don't fit into the context
   */
  evaluate(tokens: readonly number[]): Promise<Float32Array>;
  rewind(position: number): void;
  /** Closes the file. The kernels are the caller's. */
  close(): void;
}

/**
 * Loads a model whose operators are cut between two processors (HeteroLLM 4.1), and runs the operations of
 * the forward pass in their order, products in two parts at the same time.
 * @throws InputError as loadTransformer does, and for a partition with fast synchronisation with a GPU, which has memory of
 * its own
 */
export function loadPartitionedTransformer(path: string, options: PartitionOptions): PartitionedTransformer {
  const { main, second, partition, context, kvCache = DEFAULT_KV_FORMAT } = options;
  if (partition.synchronisation === 'fast' && !('begin' in second))
    throw new InputError('plan: synchronisation', 'fast needs memory that both processors share; allowed: naive');
  const { source, close } = openFile(path);
  try {
    const gguf = readGguf(source);
    const model = modelFromGguf(gguf);
    checkKvFormat(model, kvCache);
    const settings = transformerSettings(gguf, model);
    const rotations = readRotations(gguf, source, model, context);
    const sourceOf = (kernels: Kernels) => ({ gguf, bytes: source, file: kernels.mapFile(path), kernels });
    const onMain = sourceOf(main);
    const weights = loadWeights(onMain, model);
    const processors = {
      main: { kernels: main, weights: weightsLoader(onMain, model) },
      second: 'begin' in second ? second : kernelsAsSecond(second, weightsLoader(sourceOf(second), model)),
    };
    const cut = createCutOperations(processors, partition);
    const layerSettings = { shape: model, normEpsilon: settings.normEpsilon, rotations };
    const cache = contextOf(main, model, { capacity: context, type: kvCache });
    const mostTokens = Math.min(context, Math.max(1, partition.promptTokens));
    const vector = sharedWith(processors.second, main);
    const activationsOf = createActivations({ vector }, model, rotations, mostTokens);
    const logits = vector(model.vocabularySize);
    let position = 0;
    return {
      model,
      get position() {
        return position;
      },
      async evaluate(tokens) {
        checkTokens(tokens.length, { partition, position, context });
        const activations = activationsOf(tokens.length);
        const segments = passSegments(layerSettings, activations, [{ cache, position, tokens: tokens.length }]);
        main.run(embedOperations(model, { table: weights.embedding, tokens, y: activations.x }));
        for (const [layer, own] of weights.layers.entries()) {
          const { operations } = layerBatches(layerSettings, own, layer, { activations, segments });
          await cut.runLayer(operations, layer, tokens.length);
        }
        for (const { operations } of outputPart({
          layerSettings,
          weights,
          activations,
          logits,
          wanted: [{ first: tokens.length - 1, count: 1 }],
        }))
          await cut.runOutput(operations, 1);
        position += tokens.length;
        if (!allFinite(logits.values)) throw noNumbers(path);
        return logits.values;
      },
      rewind(to) {
        if (!(Number.isInteger(to) && to >= 0 && to <= position))
          throw new RangeError(`rewind to ${to} of ${position} tokens`);
        position = to;
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Vectors of the main processor, in memory that the second one sees too where there is such. */
function sharedWith({ reserve }: SecondProcessor, main: Kernels): (values: number) => Vector {
  const { sharedVector } = main;
  if (reserve === undefined || sharedVector === undefined) return (values) => main.vector(values);
  return (values) => sharedVector(reserve(values));
}

function checkTokens(
  tokens: number,
  {
    partition,
    position,
    context,
  }: { readonly partition: TensorPartition; readonly position: number; readonly context: number },
): void {
  if (tokens === 0) throw new RangeError('no tokens to evaluate');
  const { promptTokens } = partition;
  if (tokens !== 1 && tokens !== promptTokens)
    throw new InputError('plan: promptTokens', `is ${promptTokens}; the prompt has ${tokens} tokens`);
  const needed = position + tokens;
  if (needed > context)
    throw new InputError('context', `${needed} tokens don’t fit into ${context}; ask for a longer context`);
}
