import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { TransformerSettings } from '../../gguf/transformer-settings.ts';
import type { GreedyOptions } from '../../kernels/kernels.ts';
import type { Model } from '../../model/model.ts';
import type { PassPartName } from '../weights/weights-layout.ts';

/** Tokens of one verification: one row of logits has up to 600 kB. */
export const VERIFIED_TOKENS = 32;

/** A loaded model with its context. Its memory belongs to the kernels that it was loaded with. */
export interface Transformer {
  readonly model: Model;
  readonly settings: TransformerSettings;
  /** Tokens that fit into its KV cache. */
  readonly contextLength: number;
  /** Tokens in the KV cache. */
  readonly position: number;
  /**
   * Evaluates `tokens`, at least one: a whole prompt or single tokens.
   * @returns the logits of the last: [vocabulary], in memory that the next call overwrites
   * @throws InputError if they don't fit into the context; RangeError for an invalid token
   */
  evaluate(tokens: readonly number[]): Float32Array;
  /** Like `evaluate`, with the logits of all tokens: [tokens][vocabulary], owned by the caller. */
  evaluateAll(tokens: readonly number[]): Float32Array;
  /**
   * Like `evaluate`, with the logits of all tokens, each as it has them alone, bit by bit: [tokens][vocabulary], in
   * memory that the next call overwrites. Native kernels then multiply them as single tokens (`multiplied: 'singly'`),
   * which is slower for many; with pages of the KV cache in a file, sums may round differently.
   * @throws RangeError for more than VERIFIED_TOKENS
   */
  verify(tokens: readonly number[]): Float32Array;
  /**
   * Evaluates tokens, at least one, and writes the likeliest one after them, and so on; those too are evaluated, all or
   * without the last.
   * @returns the tokens that were written; `undefined` where that is no faster than pass by pass, and nothing was done
   * @throws InputError if all that it may write doesn't fit into the context
   */
  writeGreedily(tokens: readonly number[], options: GreedyOptions): readonly number[] | undefined;
  /** Removes all tokens from `position` on. */
  rewind(position: number): void;
  /** Its own block that guesses at further tokens, if it was loaded with it. */
  readonly prediction?: Prediction;
  /** Experts of a mixture that were read so far, if they are read when tokens choose them. */
  readonly expertReads?: ExpertReads;
}

/** A block of a model that guesses at the tokens of its text, which it reads after the model has evaluated them. */
export interface Prediction extends Pick<Transformer, 'contextLength' | 'position' | 'rewind'> {
  /** Bytes of its weights, with those that it shares with the model's output. */
  readonly bytes: number;
  /** Reads tokens, at least one. @returns logits of the token after them: [vocabulary], which the next call overwrites */
  evaluate(tokens: readonly number[]): Float32Array;
}

/** Seconds, on the clock of performance.now(). */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
}

/** The time in which a part of the model ran. */
export interface PartTime extends TimeRange {
  readonly name: PassPartName;
  /** Tokens of the call in which the part ran. */
  readonly tokens: number;
  /** The times of computation: the whole time, unless it waited for pages of the KV cache. */
  readonly parts: readonly TimeRange[];
}

/** Called before and after each part of a forward pass. Parts then run one by one, which costs some microseconds each. */
export interface PassHooks {
  /** Called before a part runs; its weights must be in memory when this returns. */
  before?(part: PassPartName): void;
  after?(part: PartTime): void;
}
