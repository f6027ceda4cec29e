import { openFile } from '../../gguf/file-source.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { transformerSettings } from '../../gguf/transformer-settings.ts';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import { DeviceFailureError } from '../../kernels/device-failure-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { CachePlace, KeyValueCache } from '../../kernels/key-value-cache.ts';
import { checkKvFormat, DEFAULT_KV_FORMAT, type KvFormat } from '../../model/kv-format.ts';
import { expertBytes, type Model } from '../../model/model.ts';
import type { SplitPlan } from '../../plan/plan.ts';
import { DEFAULT_PAGING, type GpuPaging, gpuPages } from '../kv/gpu-pages.ts';
import { createLayerStates } from '../kv/layer-states.ts';
import { poolPlan } from '../kv/plan-pages.ts';
import { sliceShapes } from '../kv/slice-shapes.ts';
import { type ContextCache, cacheOf, rewindTogether, wholeCache } from '../pass/context-cache.ts';
import type { LargestLogits } from '../pass/largest-logits.ts';
import { BATCH_TOKENS } from '../pass/passes.ts';
import { readRotations } from '../pass/rotations.ts';
import { checkRoom } from '../texts/create-transformer.ts';
import type { LayerPages } from '../texts/layer-pages.ts';
import { createSequences, type Sequences } from '../texts/sequences.ts';
import { createTokenHistory } from '../texts/token-history.ts';
import { weightsLoader } from '../weights/transformer-weights.ts';
import { loadToGpu } from './gpu-layers.ts';
import { createModelPart, type ModelPart } from './model-part.ts';
import { createSplitPasses, runSequences, type SplitPasses, type Stage } from './split-passes.ts';

export interface SplitOptions {
  readonly cpu: Kernels;
  readonly gpu: Kernels;
  /** Tokens that the KV cache holds. */
  readonly context: number;
  /** Default: F16. */
  readonly kvCache?: KvFormat;
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
  /**
   * The same for several sequences, which decode together: a pass reads the weights once for all of them. Keys and values
   * are in pages next to their layers, of which each processor has `pages`.
   * @throws InputError as `on` does, and for a plan that keeps keys and values in RAM
   */
  sequences(plan: SplitPlan, pages: SequencePages, onLayer?: (layer: number) => void): Promise<Sequences>;
  /** Closes the file. The kernels are the caller's. */
  close(): void;
}

/** The pool of sequences' pages. */
export interface SequencePages {
  readonly pages: number;
  readonly pageTokens: number;
  /** Destination of evicted pages. */
  readonly place: CachePlace;
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
  /**
   * Like `evaluate`, with only the `k` largest logits, or all if there are fewer: largest first, ties by the lower
   * token. `undefined` where the output is on the CPU, which has all logits in memory anyway.
   */
  readonly candidates: ((tokens: readonly number[], k: number) => Promise<LargestLogits['candidates']>) | undefined;
  /** Removes all tokens from `position` on. */
  rewind(position: number): void;
}

/**
 * Opens a model for two processors; weights are loaded when a plan needs them.
 * @throws InputError as loadTransformer does
 */
export function openSplitModel(path: string, options: SplitOptions): SplitModel {
  const { cpu, gpu, context, kvCache = DEFAULT_KV_FORMAT, paging } = options;
  const { source, close } = openFile(path);
  try {
    const gguf = readGguf(source);
    const model = modelFromGguf(gguf);
    checkKvFormat(model, kvCache);
    const settings = transformerSettings(gguf, model);
    const rotations = readRotations(gguf, source, model, context);
    const mostTokens = Math.min(BATCH_TOKENS, context);
    const partOn = (kernels: Kernels): ModelPart => {
      const weights = weightsLoader({ gguf, bytes: source, file: kernels.mapFile(path), kernels }, model);
      return createModelPart({ model, settings, rotations: () => rotations, weights, kernels, mostTokens });
    };
    const parts = { cpu: partOn(cpu), gpu: partOn(gpu) };

    /** Brings the layers of a stage to its processor. @param cache makes what the layer keeps, which needs memory too */
    const load = async (
      { part, from, to, experts }: Stage,
      cache: (layer: number) => void,
      onLayer?: (layer: number) => void,
    ) => {
      const layers = Array.from({ length: to - from }, (_, index) => from + index);
      if (part === parts.gpu) {
        const loaded: Pick<ModelPart, 'load'> = {
          load: (layer, end) => part.load(layer, end, experts?.has(layer) ? end - layer : 0),
        };
        return await loadToGpu({ gpu, part: loaded }, layers, { cache, onLayer });
      }
      part.load(from, to);
      layers.forEach(cache);
    };
    const stagesOf = (plan: SplitPlan): Stage[] =>
      plan.stages.map(({ processor, from, to, cpuExperts = 0 }) => ({
        ...{ part: parts[processor], from, to },
        experts: cpuExperts === 0 ? undefined : parts.cpu.experts(from, from + cpuExperts),
      }));
    const passesOf = (plan: SplitPlan, stages: readonly Stage[]): SplitPasses => {
      const outer = { embedding: parts[plan.embedding.processor], output: parts[plan.output.processor] };
      outer.output.loadOutput();
      const passes = createSplitPasses({ ...outer, chooses: plan.output.processor === 'gpu', stages, path });
      return withLayersNamed(passes, whatWasThere(plan, model));
    };
    return {
      model,
      async on(plan, onLayer) {
        checkPlan(plan, model);
        const stages = stagesOf(plan);
        const passes = passesOf(plan, stages);
        const caches: ContextCache[] = [];
        for (const stage of stages) {
          const { part, from, to } = stage;
          if (part === parts.gpu && plan.kvCache === 'host') {
            const pages = gpuPages(plan, model, { context, kvCache, paging });
            await load(stage, () => {}, onLayer);
            caches.push(
              part
                .layerPages({ from, to }, { plan: pages, place: (paging ?? DEFAULT_PAGING).place, type: kvCache })
                .open().cache,
            );
            continue;
          }
          sliceShapes(model, kvCache, stage);
          const own = new Map<number, KeyValueCache>();
          const size = { type: kvCache, capacity: context };
          const addCache = (layer: number): void => {
            const cache = cacheOf(part.kernelsOf(layer), model, size, layer);
            if (cache !== undefined) own.set(layer, cache);
          };
          await load(stage, addCache, onLayer);
          caches.push(wholeCache(own, createLayerStates(part.kernelsOf(from), model, { from, to })));
        }
        return createSplitTransformer({ passes, caches, model, context, mostTokens });
      },
      async sequences(plan, { pages, pageTokens, place }, onLayer) {
        checkPlan(plan, model);
        if (plan.kvCache === 'host')
          throw new InputError('plan', 'keeps keys and values in RAM; sequences have them with their layers');
        const stages = stagesOf(plan);
        const passes = passesOf(plan, stages);
        const pools: LayerPages[] = [];
        for (const stage of stages) {
          await load(stage, () => {}, onLayer);
          const own = poolPlan({ shapes: sliceShapes(model, kvCache, stage), pages, pageTokens });
          pools.push(stage.part.layerPages(stage, { plan: own, place, type: kvCache }));
        }
        return createSequences({
          model,
          contextLength: context,
          mostTokens,
          stages: pools,
          plan: { pageTokens, pages },
          run: (work) => runSequences(passes, model, work),
        });
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
  if (streamed)
    throw new InputError(
      'plan',
      'streams weights to the GPU, which hearth run --plan and hearth answers carry out, as rings of one device',
    );
  if (stages.some(({ processor, cpuExperts }) => processor === 'cpu' && cpuExperts !== undefined))
    throw new InputError('plan', 'has layers on the CPU with experts on the CPU; only a stage on a GPU may have these');
  if (kvCache === 'host' && stages.filter(({ processor }) => processor === 'gpu').length > 1)
    throw new InputError('plan', 'has several stages on the GPU, whose KV cache is in RAM; allowed: one');
}

/** Number of layers that a GPU had, and what to do; WebGPU can't say how much memory is free. */
function whatWasThere({ stages }: SplitPlan, model: Model): string {
  const { layers, layer } = model;
  const own = stages.filter(({ processor }) => processor === 'gpu');
  const onGpu = own.reduce((sum, { from, to }) => sum + to - from, 0);
  const away = own.reduce((sum, { from, cpuExperts = 0 }) => sum + expertBytes(model, from, from + cpuExperts), 0);
  const fewer = `--gpu-layers ${Math.floor(onGpu / 2)} halves that`;
  const bytes = `${formatBytes(onGpu * layer.bytes - away)} without their caches`;
  return `it had ${onGpu} of ${layers}, ${bytes}; ${fewer}, and hearth profile measures how much memory is free`;
}

/** Passes whose errors also say which layers a failing device had. */
function withLayersNamed({ run, logits, hidden, largest }: SplitPasses, had: string): SplitPasses {
  const named =
    <Given extends readonly unknown[], Result>(call: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> =>
      call(...given).catch((error: Error) => {
        throw error instanceof DeviceFailureError ? new InputError(error.where, `${error.problem} (${had})`) : error;
      });
  return { run: named(run), logits: named(logits), hidden: named(hidden), largest: largest && named(largest) };
}

interface SplitParts {
  readonly passes: SplitPasses;
  readonly caches: readonly ContextCache[];
  readonly model: Model;
  readonly context: number;
  readonly mostTokens: number;
}

function createSplitTransformer({ passes, caches, model, context, mostTokens }: SplitParts): SplitTransformer {
  const { largest } = passes;
  const text = createTokenHistory();
  const step = async (tokens: readonly number[]): Promise<void> => {
    await passes.run([{ caches, position: text.known, tokens }]);
    text.evaluated(tokens);
  };
  /** Evaluates all tokens. @returns how many there were in the last pass */
  const evaluateAll = async (tokens: readonly number[]): Promise<number> => {
    checkRoom(text.position, tokens.length, context);
    while (text.known < text.position) await step(text.missing(mostTokens));
    let last = 0;
    for (let from = 0; from < tokens.length; from += last) {
      last = Math.min(tokens.length - from, mostTokens, ...caches.map(({ room }) => room));
      await step(tokens.slice(from, from + last));
    }
    return last;
  };
  return {
    model,
    contextLength: context,
    promptPart: mostTokens,
    get position() {
      return text.position;
    },
    async evaluate(tokens) {
      const last = await evaluateAll(tokens);
      return await passes.logits(last, [{ first: last - 1, count: 1 }]);
    },
    candidates: largest && (async (tokens, k) => await largest(await evaluateAll(tokens), k)),
    rewind(to) {
      if (!(Number.isInteger(to) && to >= 0 && to <= text.position))
        throw new RangeError(`rewind to ${to} of ${text.position} tokens`);
      if (to >= text.known) return text.rewind(to, text.known);
      text.rewind(to, rewindTogether(caches, to));
    },
  };
}
