import { openFile } from '../gguf/file-source.ts';
import { modelFromGguf } from '../gguf/model-from-gguf.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { transformerSettings } from '../gguf/transformer-settings.ts';
import { InputError } from '../input/input-error.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Model } from '../model/model.ts';
import type { SplitPlan } from '../plan/plan.ts';
import { allFinite } from './finite-logits.ts';
import { loadToGpu } from './gpu-layers.ts';
import { type GpuPaging, gpuPages } from './kv/gpu-pages.ts';
import { createModelPart, type LayerCaches, type ModelPart, type PagedLayers } from './model-part.ts';
import { noNumbers } from './no-numbers.ts';
import { rotaryEmbedding } from './rotary-embedding.ts';
import { readVector, weightsLoader } from './transformer-weights.ts';

/** Tokens that go through the layers at once. */
const BATCH_TOKENS = 512;

export interface SplitOptions {
  readonly cpu: Kernels;
  readonly gpu: Kernels;
  /** Tokens that the KV cache holds. */
  readonly context: number;
  /** Default: F16. */
  readonly kvCache?: KeyValueCacheShape['type'];
  /** Paging of the GPU's KV cache for plans that keep it in RAM. */
  readonly paging?: GpuPaging | undefined;
}

/** A model that two processors of one machine can share. */
export interface SplitModel {
  readonly model: Model;
  /**
   * The model in the static stages of a plan (HELM 4.1.4): each processor's weights, KV caches and operations are made
   * once, and a token crosses where a stage ends. Keys and values are where their layer is. Plans share the weights that
   * a processor has already, and the memory for activations: one may run at a time.
   * @param onLayer called after each layer that was brought to the GPU
   * @throws InputError for a plan that is for another model, streams weights, or leaves too little of the GPU's memory to
   *   pages; if the GPU has no memory for it, with the number of layers that fit
   */
  on(plan: SplitPlan, onLayer?: (layer: number) => void): Promise<SplitTransformer>;
  /** Closes the file. The kernels are the caller's. */
  close(): void;
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
}

/** Consecutive layers on one processor (HELM 4.1.2). */
interface LoadedStage {
  readonly part: ModelPart;
  readonly from: number;
  readonly to: number;
  readonly caches: LayerCaches | PagedLayers;
}

/**
 * Opens a model for two processors; weights are loaded when a plan needs them.
 * @throws InputError as loadTransformer does
 */
export function openSplitModel(path: string, options: SplitOptions): SplitModel {
  const { cpu, gpu, context, kvCache = 'F16', paging } = options;
  const { source, close } = openFile(path);
  try {
    const gguf = readGguf(source);
    const model = modelFromGguf(gguf);
    const settings = transformerSettings(gguf, model);
    const factors = gguf.tensors.find(({ name }) => name === 'rope_freqs.weight');
    const rotary = rotaryEmbedding(gguf, model, settings, factors && readVector(source, factors));
    const mostTokens = Math.min(BATCH_TOKENS, context);
    const partOn = (kernels: Kernels): ModelPart => {
      const weights = weightsLoader({ gguf, bytes: source, file: kernels.mapFile(path), kernels }, model);
      return createModelPart({ model, settings, rotary, weights, kernels, mostTokens });
    };
    const parts = { cpu: partOn(cpu), gpu: partOn(gpu) };
    return {
      model,
      async on(plan, onLayer) {
        checkPlan(plan, model);
        const outer = { embedding: parts[plan.embedding.processor], output: parts[plan.output.processor] };
        outer.output.loadOutput();
        const stages: LoadedStage[] = [];
        for (const { processor, from, to } of plan.stages) {
          const part = parts[processor];
          const inPages = processor === 'gpu' && plan.kvCache === 'host';
          const caches: LoadedStage['caches'] = inPages
            ? part.createPages(
                { from, to },
                { plan: gpuPages(plan, model, { context, kvCache, paging }), folder: '', type: kvCache },
              )
            : new Map();
          const cache = (layer: number): void => {
            if (!(caches instanceof Map)) return;
            for (const [own, created] of part.createCaches([layer], context, kvCache)) caches.set(own, created);
          };
          const layers = Array.from({ length: to - from }, (_, index) => from + index);
          if (processor === 'gpu') await loadToGpu({ gpu, part }, layers, { cache, onLayer });
          else {
            part.load(from, to);
            layers.forEach(cache);
          }
          stages.push({ part, from, to, caches });
        }
        return createSplitTransformer({ ...outer, stages, model, path, context, mostTokens });
      },
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** @throws InputError for what isn't carried out */
function checkPlan({ stages, kvCache }: SplitPlan, { layers, name }: Model): void {
  const planned = stages.reduce((sum, { from, to }) => sum + to - from, 0);
  if (planned !== layers) throw new InputError('plan', `has ${planned} layers; ${name} has ${layers}`);
  const streamed = stages.some((stage) => stage.streamed !== undefined);
  if (streamed) throw new InputError('plan', 'streams weights to the GPU, which is predicted and simulated only');
  if (kvCache === 'host' && stages.filter(({ processor }) => processor === 'gpu').length > 1)
    throw new InputError('plan', 'has several stages on the GPU, whose KV cache is in RAM; allowed: one');
}

interface SplitParts {
  readonly embedding: ModelPart;
  readonly stages: readonly LoadedStage[];
  readonly output: ModelPart;
  readonly model: Model;
  readonly path: string;
  readonly context: number;
  readonly mostTokens: number;
}

function createSplitTransformer(parts: SplitParts): SplitTransformer {
  const { model, path, context, mostTokens, output } = parts;
  const paged = parts.stages.flatMap(({ part, caches }) =>
    caches instanceof Map ? [] : [{ part, cache: caches.cache }],
  );
  let position = 0;

  const step = async (tokens: readonly number[], wanted: boolean): Promise<Float32Array | undefined> => {
    for (const { part, cache } of paged) {
      const { evicted } = cache;
      cache.begin(tokens.length);
      // Pages that left the GPU have arrived in RAM when what was submitted after them has ended.
      if (cache.evicted !== evicted) await part.leave(tokens.length);
    }
    parts.embedding.embed(tokens);
    await runStages(parts, position, tokens.length);
    position += tokens.length;
    if (!wanted) return undefined;
    const logits = await output.logits(tokens.length);
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
      for (let from = 0; from < tokens.length; ) {
        const end = Math.min(tokens.length, from + mostTokens, ...paged.map(({ cache }) => from + cache.room));
        logits = await step(tokens.slice(from, end), end === tokens.length);
        from = end;
      }
      return logits as Float32Array;
    },
    rewind(to) {
      if (!(Number.isInteger(to) && to >= 0 && to <= position))
        throw new RangeError(`rewind to ${to} of ${position} tokens`);
      for (const { cache } of paged) cache.rewind(to);
      position = to;
    },
  };
}

/** Runs all stages on the stream of `tokens` tokens, from the memory of the embedding's processor to the output's. */
async function runStages({ embedding, stages, output }: SplitParts, position: number, tokens: number): Promise<void> {
  let at = embedding;
  const cross = async (to: ModelPart): Promise<void> => {
    if (to === at) return;
    await at.leave(tokens);
    to.stream(tokens).set(at.stream(tokens));
    to.arrive(tokens);
    at = to;
  };
  for (const { part, from, to, caches } of stages) {
    await cross(part);
    await part.run(from, to, caches, position, tokens);
  }
  await cross(output);
}
