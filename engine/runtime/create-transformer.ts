import type { TransformerSettings } from '../gguf/transformer-settings.ts';
import { InputError } from '../input/input-error.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { KeyValueCacheShape } from '../kernels/key-value-cache.ts';
import type { Operation } from '../kernels/operation.ts';
import { ropeAngles } from '../kernels/rope-angles.ts';
import type { Model } from '../model/model.ts';
import { createActivations } from './activations.ts';
import { forward, type Stage } from './forward.ts';
import type { RotaryEmbedding } from './rotary-embedding.ts';
import type { StageHooks } from './stage-hooks.ts';
import type { Transformer } from './transformer.ts';
import type { Weights } from './weights.ts';

export interface TransformerParts {
  readonly model: Model;
  readonly settings: TransformerSettings;
  readonly rotary: RotaryEmbedding;
  readonly weights: Weights;
  readonly kernels: Kernels;
  readonly contextLength: number;
  readonly kvCache: KeyValueCacheShape['type'];
  readonly hooks: StageHooks | undefined;
}

/** Tokens that go through the layers at once: beyond it weights are no longer what takes time (llama.cpp's n_ubatch). */
export const BATCH_TOKENS = 512;

/** As many where the logits of all are wanted: a row of them has up to 600 kB. */
const LOGITS_TOKENS = 32;

/** Memory for activations and KV cache, and a position in it. */
export function createTransformer(parts: TransformerParts): Transformer {
  const { model, settings, rotary, weights, kernels, contextLength, kvCache, hooks } = parts;
  const { vocabularySize, kvHeads, headSize } = model;
  const layerSettings = { shape: model, normEpsilon: settings.normEpsilon, rotary };
  const caches = weights.layers.map(() => kernels.cache({ type: kvCache, kvHeads, capacity: contextLength, headSize }));
  const activationsOf = createActivations(kernels, model, rotary.dimensions, Math.min(BATCH_TOKENS, contextLength));
  const lastLogits = kernels.vector(vocabularySize);
  let allLogits = lastLogits;
  let position = 0;

  const run = (stages: readonly Stage[], tokens: number): void => {
    if (hooks === undefined) {
      const all: Operation[] = [];
      for (const { operations } of stages) all.push(...operations);
      kernels.run(all);
      return;
    }
    for (const { name, operations } of stages) {
      hooks.before?.(name);
      const start = performance.now() / 1000;
      kernels.run(operations);
      hooks.after?.({ name, tokens, start, end: performance.now() / 1000 });
    }
  };

  /** @param rows of logits: 0, that of the last token, or those of all */
  const step = (tokens: readonly number[], rows: number): Float32Array => {
    const activations = activationsOf(tokens.length);
    ropeAngles(rotary, position, activations.angles.values);
    const logits = (rows > 1 ? allLogits : lastLogits).slice(0, rows * vocabularySize);
    run(forward({ layerSettings, weights, caches, activations, logits, tokens, position }), tokens.length);
    position += tokens.length;
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
      for (let from = 0; from < tokens.length; from += BATCH_TOKENS) {
        const end = Math.min(tokens.length, from + BATCH_TOKENS);
        logits = step(tokens.slice(from, end), end === tokens.length ? 1 : 0);
      }
      return logits;
    },
    evaluateAll(tokens) {
      checkRoom(tokens.length);
      const logits = new Float32Array(tokens.length * vocabularySize);
      const most = Math.min(LOGITS_TOKENS, contextLength);
      if (allLogits === lastLogits && most > 1) allLogits = kernels.vector(most * vocabularySize);
      for (let from = 0; from < tokens.length; from += most) {
        const part = tokens.slice(from, from + most);
        logits.set(step(part, part.length), from * vocabularySize);
      }
      return logits;
    },
    rewind(to) {
      if (!(Number.isInteger(to) && to >= 0 && to <= position))
        throw new RangeError(`rewind to ${to} of ${position} tokens`);
      position = to;
    },
  };
}
