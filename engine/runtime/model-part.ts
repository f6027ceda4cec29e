import { setImmediate } from 'node:timers/promises';
import type { TransformerSettings } from '../gguf/transformer-settings.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCache, KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import { ropeAngles } from '../kernels/rope-angles.ts';
import type { Model } from '../model/model.ts';
import { createActivations } from './activations.ts';
import { type ContextCache, pagedCache } from './context-cache.ts';
import { outputPart } from './forward.ts';
import { createPagedCache, type PagedCacheOptions } from './kv/paged-cache.ts';
import { layerOperations } from './layer-operations.ts';
import type { LayerBatches } from './paged-layer.ts';
import type { RotaryEmbedding } from './rotary-embedding.ts';
import type { LayerWeights, WeightsLoader } from './transformer-weights.ts';

/** Keys and values of a request, by layer. */
export type LayerCaches = Map<number, KeyValueCache>;

/** Keys and values of consecutive layers in pages. `begin` comes before a pass, `rewind` takes tokens back. */
export interface PagedLayers {
  readonly from: number;
  readonly cache: ContextCache;
}

/** Some layers of a model, with embedding and output if requested: the part that a device of a ring computes. */
export interface ModelPart {
  readonly model: Model;
  readonly settings: TransformerSettings;
  /** The most tokens that go through its layers at once. */
  readonly mostTokens: number;
  /** Loads these layers unless they are loaded already. */
  load(from: number, to: number): void;
  /** Loads the output layer unless it is loaded already; `logits` does so too. */
  loadOutput(): void;
  createCaches(layers: readonly number[], capacity: number, type: KeyValueCacheShape['type']): LayerCaches;
  /**
   * Keys and values of layers `from` up to `to` in pages, the oldest of them in a file in `folder`, or in RAM for
   * kernels on a GPU (HELM 4.2.2).
   */
  createPages(
    layers: { readonly from: number; readonly to: number },
    options: Pick<PagedCacheOptions, 'plan' | 'folder'> & { readonly type: KeyValueCacheShape['type'] },
  ): PagedLayers;
  freeCaches(caches: LayerCaches): void;
  /**
   * The residual stream of `tokens` tokens: [tokens][hidden], the same memory in every call. Kernels with memory of
   * their own see what is written to it after `arrive`, and it has their results after `leave`.
   */
  stream(tokens: number): Float32Array;
  arrive(tokens: number): void;
  leave(tokens: number): Promise<void> | undefined;
  /** Writes the tokens' rows of the embedding to the stream. */
  embed(tokens: readonly number[]): void;
  /**
   * Runs layers `from` up to, not including, `to` on the stream of `tokens` tokens, the first at `position`. Other
   * events of the process are handled between slow layers; nothing else may use the stream meanwhile.
   */
  run(from: number, to: number, caches: LayerCaches | PagedLayers, position: number, tokens: number): Promise<void>;
  /** The logits of the last of `tokens` tokens: [vocabulary], in memory that the next call overwrites. */
  logits(tokens: number): Promise<Float32Array>;
}

export interface ModelPartOptions {
  readonly model: Model;
  readonly settings: TransformerSettings;
  readonly rotary: RotaryEmbedding;
  readonly weights: WeightsLoader;
  readonly kernels: Kernels;
  readonly mostTokens: number;
}

/** Seconds after which other events are handled: heartbeats distinguish a computing device from a lost one. */
const TURN = 0.25;

/** Loads nothing yet. All parts of a model on a device share the memory for activations. */
export function createModelPart({
  model,
  settings,
  rotary,
  weights,
  kernels,
  mostTokens,
}: ModelPartOptions): ModelPart {
  const layerSettings = { shape: model, normEpsilon: settings.normEpsilon, rotary };
  const activationsOf = createActivations(kernels, model, rotary.dimensions, mostTokens);
  const layers = new Map<number, LayerWeights>();
  const embedding = lazily(weights.embedding);
  const output = lazily(weights.output);
  const logits = lazily(() => kernels.vector(model.vocabularySize));
  /** Seconds of the last layer, and its number of tokens. */
  let last = { seconds: Number.POSITIVE_INFINITY, tokens: 0 };

  return {
    model,
    settings,
    mostTokens,
    load(from, to) {
      for (let layer = from; layer < to; layer++) if (!layers.has(layer)) layers.set(layer, weights.layer(layer));
    },
    loadOutput() {
      output();
      logits();
    },
    createCaches(wanted, capacity, type) {
      const { kvHeads, headSize } = model;
      return new Map(wanted.map((layer) => [layer, kernels.cache({ type, kvHeads, capacity, headSize })]));
    },
    createPages({ from, to }, { type, ...options }) {
      const { kvHeads, headSize } = model;
      const paged = createPagedCache({ kernels, shape: { type, kvHeads, headSize }, ...options });
      if (options.plan.layers !== to - from) throw new RangeError(`pages of ${options.plan.layers} layers`);
      return { from, cache: pagedCache(kernels, layerSettings, paged, mostTokens) };
    },
    freeCaches(caches) {
      for (const cache of caches.values()) kernels.freeCache(cache);
      caches.clear();
    },
    stream: (tokens) => activationsOf(tokens).x.values,
    arrive: (tokens) => kernels.write(activationsOf(tokens).x),
    leave: (tokens) => kernels.read(activationsOf(tokens).x),
    embed(tokens) {
      kernels.run([{ kind: 'embed', table: embedding(), tokens, y: activationsOf(tokens.length).x }]);
    },
    async run(from, to, caches, position, tokens) {
      const activations = activationsOf(tokens);
      ropeAngles(rotary, position, activations.angles.values);
      kernels.write(activations.angles);
      if (!(caches instanceof Map)) {
        for (let layer = from; layer < to; layer++) {
          const weights = layers.get(layer) as LayerWeights;
          runBatches(kernels, caches.cache.batches(weights, layer - caches.from, activations, position));
        }
        return;
      }
      const operations = (layer: number) =>
        layerOperations(
          layerSettings,
          layers.get(layer) as LayerWeights,
          caches.get(layer) as KeyValueCache,
          activations,
          position,
        );
      for (let layer = from; layer < to; ) {
        const together = tokens > last.tokens ? 1 : Math.max(1, Math.min(to - layer, Math.floor(TURN / last.seconds)));
        const start = performance.now();
        kernels.run(Array.from({ length: together }, (_, index) => operations(layer + index)).flat());
        last = { seconds: (performance.now() - start) / 1000 / together, tokens };
        layer += together;
        if (layer < to) await setImmediate();
      }
    },
    async logits(tokens) {
      const vector = logits();
      for (const { operations } of outputPart({
        layerSettings,
        weights: output(),
        activations: activationsOf(tokens),
        logits: vector,
      }))
        kernels.run(operations);
      await kernels.read(vector);
      return vector.values;
    },
  };
}

/** Runs a layer's operations, and those on pages as they are read. */
function runBatches(kernels: Kernels, { operations, later }: LayerBatches): void {
  kernels.run(operations);
  if (later === undefined) return;
  let batch = later.next();
  for (; batch.done !== true; batch = later.next()) kernels.run(batch.value);
  kernels.run(batch.value);
}

function lazily<Value>(make: () => Value): () => Value {
  let made: Value | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
