import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import { InputError } from '../../input/input-error.ts';
import type { Model } from '../../model/model.ts';
import type { ContextCache } from '../pass/context-cache.ts';
import type { Passes } from '../pass/passes.ts';
import type { SequenceTokens } from '../pass/sequence-tokens.ts';
import type { StateHistory } from '../pass/state-history.ts';
import { type Prediction, type Transformer, VERIFIED_TOKENS } from '../pass/transformer.ts';
import { createTokenHistory } from './token-history.ts';

export interface TransformerParts {
  readonly model: Model;
  readonly settings: TransformerSettings;
  readonly contextLength: number;
  readonly passes: Passes;
  readonly cache: ContextCache;
  readonly expertReads?: ExpertReads | undefined;
  /** The block that guesses at further tokens, and the states that passes keep for it. */
  readonly predicting?: { readonly prediction: Prediction; readonly states: StateHistory } | undefined;
}

/** A model with one sequence, whose position it keeps. */
export function createTransformer(parts: TransformerParts): Transformer {
  const { model, settings, contextLength, passes, cache, expertReads, predicting } = parts;
  const { vocabularySize } = model;
  const text = createTokenHistory();

  const attempt = <Result>(pass: () => Result): Result => {
    try {
      return pass();
    } catch (error) {
      text.failed(cache.rewind);
      throw error;
    }
  };
  const step = (
    tokens: readonly number[],
    logits: SequenceTokens['logits'],
    multiplied?: SequenceTokens['multiplied'],
  ): Float32Array => {
    const found = attempt(() => passes.run([{ cache, position: text.known, tokens, logits, multiplied }]));
    text.evaluated(tokens);
    return found;
  };
  /** Evaluates again what layers don't know any more: a few tokens as generation does. */
  const catchUp = (): void => {
    while (text.known < text.position) {
      const tokens = text.missing(passes.mostTokens);
      step(tokens, 'none', tokens.length <= VERIFIED_TOKENS ? 'singly' : undefined);
    }
  };
  const prepareFor = (tokens: number): void => {
    checkRoom(text.position, tokens, contextLength);
    catchUp();
  };

  return {
    model,
    settings,
    contextLength,
    ...(expertReads && { expertReads }),
    ...(predicting && { prediction: predicting.prediction }),
    get position() {
      return text.position;
    },
    evaluate(tokens) {
      prepareFor(tokens.length);
      let logits: Float32Array = new Float32Array();
      for (let from = 0; from < tokens.length; ) {
        const end = Math.min(tokens.length, from + Math.min(passes.mostTokens, cache.room));
        logits = step(tokens.slice(from, end), end === tokens.length ? 'last' : 'none');
        from = end;
      }
      return logits;
    },
    evaluateAll(tokens) {
      prepareFor(tokens.length);
      const logits = new Float32Array(tokens.length * vocabularySize);
      const most = Math.min(VERIFIED_TOKENS, passes.mostTokens);
      for (let from = 0; from < tokens.length; ) {
        const part = tokens.slice(from, from + Math.min(most, cache.room));
        logits.set(step(part, 'all'), from * vocabularySize);
        from += part.length;
      }
      return logits;
    },
    verify(tokens) {
      prepareFor(tokens.length);
      if (tokens.length > VERIFIED_TOKENS)
        throw new RangeError(`${tokens.length} tokens to verify; at most ${VERIFIED_TOKENS} are possible`);
      if (tokens.length === 1) return step(tokens, 'last');
      if (tokens.length <= cache.room) return step(tokens, 'all', 'singly');
      // A page of the KV cache must leave first; one token finds room.
      const logits = new Float32Array(tokens.length * vocabularySize);
      for (const [index, token] of tokens.entries()) logits.set(step([token], 'all', 'singly'), index * vocabularySize);
      return logits;
    },
    writeGreedily(tokens, options) {
      prepareFor(tokens.length + options.most - 1);
      const written = attempt(() => passes.writeGreedily({ cache, tokens, position: text.position, ...options }));
      if (written !== undefined) text.evaluated([...tokens, ...written.tokens].slice(0, written.passes));
      return written?.tokens;
    },
    rewind(to) {
      if (!(Number.isInteger(to) && to >= 0 && to <= text.position))
        throw new RangeError(`rewind to ${to} of ${text.position} tokens`);
      predicting?.states.rewind(to);
      if (to < text.known) text.rewind(to, cache.rewind(to));
      else text.rewind(to, text.known);
    },
  };
}

/** @throws RangeError without tokens; InputError if they don't fit into the context */
export function checkRoom(position: number, tokens: number, contextLength: number): void {
  if (tokens === 0) throw new RangeError('no tokens to evaluate');
  const needed = position + tokens;
  if (needed <= contextLength) return;
  throw new InputError('context', `${needed} tokens don’t fit into ${contextLength}; ask for a longer context`);
}
