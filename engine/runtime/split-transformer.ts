import { openFile } from '../gguf/file-source.ts';
import { modelFromGguf } from '../gguf/model-from-gguf.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { transformerSettings } from '../gguf/transformer-settings.ts';
import { InputError } from '../input/input-error.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Model } from '../model/model.ts';
import { allFinite } from './finite-logits.ts';
import { createModelPart, type LayerCaches, type ModelPart } from './model-part.ts';
import { noNumbers } from './no-numbers.ts';
import { rotaryEmbedding } from './rotary-embedding.ts';
import { readVector, weightsLoader } from './transformer-weights.ts';

/** Tokens that go through the layers at once. */
const BATCH_TOKENS = 512;

export interface SplitOptions {
  /** Has the embedding and the first layers. */
  readonly cpu: Kernels;
  /** Has the last layers and the output. */
  readonly gpu: Kernels;
  /** Layers of the GPU: 1 up to all. */
  readonly gpuLayers: number;
  /** Tokens that the KV cache holds. */
  readonly context: number;
  /** Default: F16. */
  readonly kvCache?: KeyValueCacheShape['type'];
}

/** A model whose layers are divided among the processors of one machine. */
export interface SplitTransformer {
  readonly model: Model;
  readonly contextLength: number;
  readonly promptPart: number;
  readonly position: number;
  /**
   * Evaluates `tokens`, at least one.
   * @returns the logits of the last: [vocabulary], in memory that the next call overwrites
   * @throws InputError if they don't fit into the context, or the GPU is lost or has too little memory
   */
  evaluate(tokens: readonly number[]): Promise<Float32Array>;
  /** Removes all tokens from `position` on. */
  rewind(position: number): void;
  /** Closes the file. The kernels are the caller's. */
  close(): void;
}

/** Consecutive layers on one processor (HELM 4.1.2). */
interface Stage {
  readonly part: ModelPart;
  readonly from: number;
  readonly to: number;
  readonly caches: LayerCaches;
}

/**
 * Loads a model in two static stages (HELM 4.1): the CPU computes the embedding and the first layers, the GPU the
 * others and the output. A token crosses from one processor to the other once; keys and values are where their layer
 * is.
 * @throws InputError as loadTransformer does, and if the model doesn't have so many layers
 */
export function loadSplitTransformer(path: string, options: SplitOptions): SplitTransformer {
  const { cpu, gpu, gpuLayers, context, kvCache = 'F16' } = options;
  const { source, close } = openFile(path);
  const gguf = readGguf(source);
  const model = modelFromGguf(gguf);
  if (gpuLayers > model.layers) {
    close();
    throw new InputError(
      '--gpu-layers',
      `${gpuLayers} of a model of ${model.layers} layers; allowed: 0 to ${model.layers}, all`,
    );
  }
  const settings = transformerSettings(gguf, model);
  const factors = gguf.tensors.find(({ name }) => name === 'rope_freqs.weight');
  const rotary = rotaryEmbedding(gguf, model, settings, factors && readVector(source, factors));
  const mostTokens = Math.min(BATCH_TOKENS, context);
  const partOn = (kernels: Kernels): ModelPart => {
    const weights = weightsLoader({ gguf, bytes: source, file: kernels.mapFile(path), kernels }, model);
    return createModelPart({ model, settings, rotary, weights, kernels, mostTokens });
  };
  const boundary = model.layers - gpuLayers;
  const [first, last] = [partOn(cpu), partOn(gpu)];
  const stage = (part: ModelPart, from: number, to: number): Stage => {
    part.load(from, to);
    const layers = Array.from({ length: to - from }, (_, index) => from + index);
    return { part, from, to, caches: part.createCaches(layers, context, kvCache) };
  };
  const stages = [stage(first, 0, boundary), stage(last, boundary, model.layers)];
  let position = 0;

  const step = async (tokens: readonly number[], wanted: boolean): Promise<Float32Array | undefined> => {
    first.embed(tokens);
    await runStages(stages, position, tokens.length);
    position += tokens.length;
    if (!wanted) return undefined;
    const logits = await last.logits(tokens.length);
    if (!allFinite(logits)) throw noNumbers(path);
    return logits;
  };

  return {
    model,
    contextLength: context,
    promptPart: mostTokens,
    get position() {
      return position;
    },
    async evaluate(tokens) {
      if (tokens.length === 0) throw new RangeError('no tokens to evaluate');
      if (position + tokens.length > context) {
        const needed = position + tokens.length;
        throw new InputError('context', `${needed} tokens don't fit into ${context}; ask for a longer context`);
      }
      let logits: Float32Array | undefined;
      for (let from = 0; from < tokens.length; from += mostTokens) {
        const end = Math.min(tokens.length, from + mostTokens);
        logits = await step(tokens.slice(from, end), end === tokens.length);
      }
      return logits as Float32Array;
    },
    rewind(to) {
      if (!(Number.isInteger(to) && to >= 0 && to <= position))
        throw new RangeError(`rewind to ${to} of ${position} tokens`);
      position = to;
    },
    close,
  };
}

/** Runs all stages on the stream of `tokens` tokens, which is in the first stage's memory; it ends in the last's. */
async function runStages(stages: readonly Stage[], position: number, tokens: number): Promise<void> {
  for (const [index, { part, from, to, caches }] of stages.entries()) {
    const before = stages[index - 1]?.part;
    if (before !== undefined) {
      await before.leave(tokens);
      part.stream(tokens).set(before.stream(tokens));
      part.arrive(tokens);
    }
    await part.run(from, to, caches, position, tokens);
  }
}
