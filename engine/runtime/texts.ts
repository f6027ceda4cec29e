import type { GreedyOptions } from '../kernels/kernels.ts';
import type { Model } from '../model/model.ts';
import type { ContextCache } from './context-cache.ts';
import { checkRoom } from './create-transformer.ts';
import type { Passes } from './passes.ts';

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
  position: number;
}

export function createTexts({ model, contextLength, passes, most, newCache }: TextsOptions): Texts {
  const opened = new Map<Text, Opened>();
  /** What closed texts leave, with the passes that are prepared for it. */
  const unused: ContextCache[] = [];
  const stateOf = (text: Text): Opened => {
    const state = opened.get(text);
    if (state === undefined) throw new RangeError('a closed text');
    return state;
  };
  return {
    ...{ model, contextLength, mostTokens: passes.mostTokens },
    open() {
      if (opened.size === most) return undefined;
      const state: Opened = { cache: unused.pop() ?? newCache(), position: 0 };
      const text: Text = {
        get position() {
          return state.position;
        },
        rewind(to) {
          if (!(Number.isInteger(to) && to >= 0 && to <= state.position))
            throw new RangeError(`rewind to ${to} of ${state.position} tokens`);
          stateOf(text).cache.rewind(to);
          state.position = to;
        },
        writeGreedily(tokens, options) {
          const { cache, position } = stateOf(text);
          checkRoom(position, tokens.length + options.most - 1, contextLength);
          const written = passes.writeGreedily({ cache, tokens, position, ...options });
          state.position += written?.passes ?? 0;
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
        const { cache, position } = stateOf(text);
        checkRoom(position, tokens.length, contextLength);
        return { cache, position, tokens, logits: 'last' as const };
      });
      const found = passes.run(parts);
      for (const { text, tokens } of work) stateOf(text).position += tokens.length;
      return found;
    },
  };
}
