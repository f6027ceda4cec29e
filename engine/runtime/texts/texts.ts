import type { GreedyOptions } from '../../kernels/kernels.ts';
import type { Model } from '../../model/model.ts';
import type { ContextCache } from '../pass/context-cache.ts';
import type { Passes } from '../pass/passes.ts';
import { checkRoom } from './create-transformer.ts';
import { createTokenHistory, type TokenHistory } from './token-history.ts';

/**
 * Several texts of a small model, each with keys and values in one piece: where one is continued alone, its passes are
 * prepared, and its likeliest tokens are written in one call.
 */
export interface Texts {
  readonly model: Model;
  /** Tokens that a text can have. */
  readonly contextLength: number;
  /** Tokens that a pass can have. */
  readonly mostTokens: number;
  /** An empty text; `undefined` while there is no memory for one more. */
  open(): Text | undefined;
  /**
   * One pass over tokens of several texts.
   * @returns the logits after the last token of each, [works][vocabulary], in memory that the next call overwrites
   * @throws InputError if tokens don't fit into the context
   */
  evaluate(work: readonly TextWork[]): Float32Array;
}

export interface Text {
  /** Tokens evaluated so far. */
  readonly position: number;
  /** Removes all tokens from `position` on. */
  rewind(position: number): void;
  /** See DraftingModel. */
  writeGreedily(tokens: readonly number[], options: GreedyOptions): readonly number[] | undefined;
  /** Gives its memory back. It must not be used afterwards. */
  close(): void;
}

export interface TextWork {
  readonly text: Text;
  /** At least one. */
  readonly tokens: readonly number[];
}

export interface TextsOptions {
  readonly model: Model;
  readonly contextLength: number;
  readonly passes: Passes;
  /** Texts that have memory at the same time. */
  readonly most: number;
  /** Allocates the keys and values of a text. */
  readonly newCache: () => ContextCache;
}

interface Opened {
  readonly cache: ContextCache;
  readonly history: TokenHistory;
}

export function createTexts({ model, contextLength, passes, most, newCache }: TextsOptions): Texts {
  const opened = new Map<Text, Opened>();
  /** Caches that closed texts leave, with the passes that are prepared for them. */
  const unused: ContextCache[] = [];
  const stateOf = (text: Text): Opened => {
    const state = opened.get(text);
    if (state === undefined) throw new RangeError('a closed text');
    return state;
  };
  /** Evaluates again what layers don't know any more. */
  const catchUp = ({ cache, history }: Opened): void => {
    while (history.known < history.position) {
      const tokens = history.missing(passes.mostTokens);
      passes.run([{ cache, position: history.known, tokens, logits: 'none' }]);
      history.evaluated(tokens);
    }
  };
  return {
    ...{ model, contextLength, mostTokens: passes.mostTokens },
    open() {
      if (opened.size === most) return undefined;
      const state: Opened = { cache: unused.pop() ?? newCache(), history: createTokenHistory() };
      const text: Text = {
        get position() {
          return state.history.position;
        },
        rewind(to) {
          const { position, known } = state.history;
          if (!(Number.isInteger(to) && to >= 0 && to <= position))
            throw new RangeError(`rewind to ${to} of ${position} tokens`);
          state.history.rewind(to, to < known ? stateOf(text).cache.rewind(to) : known);
        },
        writeGreedily(tokens, options) {
          const { cache, history } = stateOf(text);
          const { position } = history;
          checkRoom(position, tokens.length + options.most - 1, contextLength);
          catchUp(state);
          const written = passes.writeGreedily({ cache, tokens, position, ...options });
          if (written !== undefined) history.evaluated([...tokens, ...written.tokens].slice(0, written.passes));
          return written?.tokens;
        },
        close() {
          unused.push(stateOf(text).cache);
          opened.delete(text);
        },
      };
      opened.set(text, state);
      return text;
    },
    evaluate(work) {
      const parts = work.map(({ text, tokens }) => {
        const state = stateOf(text);
        const { cache, history } = state;
        const { position } = history;
        checkRoom(position, tokens.length, contextLength);
        catchUp(state);
        return { cache, position, tokens, logits: 'last' as const };
      });
      const found = passes.run(parts);
      for (const { text, tokens } of work) stateOf(text).history.evaluated(tokens);
      return found;
    },
  };
}
