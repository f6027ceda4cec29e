import type { TransformerSettings } from '../gguf/transformer-settings.ts';
import type { Model } from '../model/model.ts';
import type { PassPartName } from './weights/weights-layout.ts';

/** A loaded model with the tokens that it has seen. Its memory belongs to the kernels that it was loaded with. */
export interface Transformer {
  readonly model: Model;
  readonly settings: TransformerSettings;
  /** Tokens that fit into its KV cache. */
  readonly contextLength: number;
  /** Tokens that are in it. */
  readonly position: number;
  /**
   * Goes on with `tokens`, at least one: a prompt at once or a token at a time.
   * @returns the logits of the last: [vocabulary], in memory that the next call writes to
   * @throws InputError where the context has no room for them; RangeError for a number that is not a token
   */
  evaluate(tokens: readonly number[]): Float32Array;
  /** The same with the logits of all: [tokens][vocabulary], the caller's to keep. */
  evaluateAll(tokens: readonly number[]): Float32Array;
  /** Forgets all tokens from `position` on. */
  rewind(position: number): void;
}

/** Seconds, on the clock of performance.now(). */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
}

/** When a part of the model ran. */
export interface PartTime extends TimeRange {
  readonly name: PassPartName;
  /** Tokens of the call in which the part ran. */
  readonly tokens: number;
  /** When it computed: all of that time, unless it had to wait for pages of the KV cache. */
  readonly parts: readonly TimeRange[];
}

/** Called before and after each part of a forward pass. Parts then run one by one, which costs some microseconds each. */
export interface PassHooks {
  /** Called before a part runs; its weights must be in memory when this returns. */
  before?(part: PassPartName): void;
  after?(part: PartTime): void;
}
