import type { TransformerSettings } from '../gguf/transformer-settings.ts';
import { InputError } from '../input/input-error.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Operation } from '../kernels/operation.ts';
import { ropeAngles } from '../kernels/rope-angles.ts';
import type { Model } from '../model/model.ts';
import { createActivations } from './activations.ts';
import { pagedCache, wholeCache } from './context-cache.ts';
import { allFinite } from './finite-logits.ts';
import { forward, type PassPart } from './forward.ts';
import type { PagedCache } from './kv/paged-cache.ts';
import type { RotaryEmbedding } from './rotary-embedding.ts';
import type { PassHooks, TimeRange, Transformer } from './transformer.ts';
import type { LayerWeights, Weights } from './transformer-weights.ts';

export interface TransformerParts {
  readonly model: Model;
  readonly settings: TransformerSettings;
  readonly rotary: RotaryEmbedding;
  readonly weights: Weights;
  readonly kernels: Kernels;
  readonly contextLength: number;
  readonly kvCache: KeyValueCacheShape['type'];
  /** Keys and values in pages; default: one cache per layer. */
  readonly paged?: PagedCache | undefined;
  /** Called before and after each part of a pass, in order. */
  readonly hooks: readonly PassHooks[];
  /** The error if logits are not finite; unless given, they are not checked. */
  readonly noNumbers?: () => Error;
}

/** Tokens that go through the layers at once: with more, reading weights no longer dominates (llama.cpp's n_ubatch). */
export const BATCH_TOKENS = 512;

/** Tokens at once if the logits of all are needed: one row has up to 600 kB. */
const LOGITS_TOKENS = 32;

/** Allocates memory for activations and KV cache, and keeps the position. */
export function createTransformer(parts: TransformerParts): Transformer {
  const { model, settings, rotary, weights, kernels, contextLength, kvCache, paged, hooks, noNumbers } = parts;
  const { vocabularySize, kvHeads, headSize } = model;
  const layerSettings = { shape: model, normEpsilon: settings.normEpsilon, rotary };
  const mostTokens = Math.min(BATCH_TOKENS, contextLength);
  const shape = { type: kvCache, kvHeads, capacity: contextLength, headSize };
  const caches =
    paged === undefined
      ? wholeCache(kernels, layerSettings, model.layers, shape)
      : pagedCache(kernels, layerSettings, paged, mostTokens);
  const activationsOf = createActivations(kernels, model, rotary.dimensions, mostTokens);
  const lastLogits = kernels.vector(vocabularySize);
  let allLogits = lastLogits;
  let position = 0;

  const run = passRunner(kernels, hooks);

  /** @param rows rows of logits: 0, that of the last token, or all */
  const step = (tokens: readonly number[], rows: number): Float32Array => {
    const activations = activationsOf(tokens.length);
    ropeAngles(rotary, position, activations.angles.values);
    const logits = (rows > 1 ? allLogits : lastLogits).slice(0, rows * vocabularySize);
    caches.begin(tokens.length);
    const layerBatches = (layer: LayerWeights, index: number) => caches.batches(layer, index, activations, position);
    run(forward({ layerSettings, weights, activations, logits, tokens, layerBatches }), tokens.length);
    position += tokens.length;
    if (noNumbers !== undefined && !allFinite(logits.values)) throw noNumbers();
    return logits.values;
  };

  const checkRoom = (tokens: number): void => {
    if (tokens === 0) throw new RangeError('no tokens to evaluate');
    const needed = position + tokens;
    if (needed <= contextLength) return;
    throw new InputError('context', `${needed} tokens don't fit into ${contextLength}; ask for a longer context`);
  };

  return {
    model,
    settings,
    contextLength,
    get position() {
      return position;
    },
    evaluate(tokens) {
      checkRoom(tokens.length);
      let logits = lastLogits.values;
      for (let from = 0; from < tokens.length; ) {
        const end = Math.min(tokens.length, from + Math.min(BATCH_TOKENS, caches.room));
        logits = step(tokens.slice(from, end), end === tokens.length ? 1 : 0);
        from = end;
      }
      return logits;
    },
    evaluateAll(tokens) {
      checkRoom(tokens.length);
      const logits = new Float32Array(tokens.length * vocabularySize);
      const most = Math.min(LOGITS_TOKENS, contextLength);
      if (allLogits === lastLogits && most > 1) allLogits = kernels.vector(most * vocabularySize);
      for (let from = 0; from < tokens.length; ) {
        const part = tokens.slice(from, from + Math.min(most, caches.room));
        logits.set(step(part, part.length), from * vocabularySize);
        from += part.length;
      }
      return logits;
    },
    rewind(to) {
      if (!(Number.isInteger(to) && to >= 0 && to <= position))
        throw new RangeError(`rewind to ${to} of ${position} tokens`);
      caches.rewind(to);
      position = to;
    },
  };
}

type RunPass = (parts: readonly PassPart[], tokens: number) => void;

/** Runs the parts of a forward pass: one by one if there are hooks, otherwise in as few batches as pages allow. */
function passRunner(kernels: Kernels, hooks: readonly PassHooks[]): RunPass {
  return hooks.length === 0
    ? (parts) => runTogether(kernels, parts)
    : (parts, tokens) => runOneByOne(kernels, hooks, parts, tokens);
}

function runTogether(kernels: Kernels, parts: readonly PassPart[]): void {
  let together: Operation[] = [];
  for (const { operations, later } of parts) {
    together.push(...operations);
    if (later === undefined) continue;
    // Computes on pages in memory while evicted ones are read.
    kernels.run(together);
    let batch = later.next();
    for (; batch.done !== true; batch = later.next()) kernels.run(batch.value);
    together = [...batch.value];
  }
  kernels.run(together);
}

function runOneByOne(kernels: Kernels, hooks: readonly PassHooks[], parts: readonly PassPart[], tokens: number): void {
  for (const { name, operations, later } of parts) {
    for (const hook of hooks) hook.before?.(name);
    const ranges: TimeRange[] = [];
    const run = (batch: readonly Operation[]): void => {
      const start = performance.now() / 1000;
      kernels.run(batch);
      ranges.push({ start, end: performance.now() / 1000 });
    };
    run(operations);
    if (later !== undefined) {
      let batch = later.next();
      for (; batch.done !== true; batch = later.next()) run(batch.value);
      run(batch.value);
    }
    const [{ start }, { end }] = [ranges[0] as TimeRange, ranges.at(-1) as TimeRange];
    for (const hook of hooks) hook.after?.({ name, tokens, start, end, parts: ranges });
  }
}
