/** What generating text needs of a model, wherever and however it runs. */
export interface LanguageModel {
  /** Goes on with these tokens, at least one. Returns the logits of what follows the last: [vocabulary]. */
  evaluate(tokens: readonly number[]): Float32Array;
  /** Tokens that it can hold. */
  readonly contextLength: number;
}
