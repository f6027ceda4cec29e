/** What generating text needs of a model, wherever and however it runs. */
export interface LanguageModel {
  /** Goes on with these tokens, at least one. Returns the logits of what follows the last: [vocabulary]. */
  evaluate(tokens: readonly number[]): Float32Array | Promise<Float32Array>;
  /** The most tokens of a prompt to hand over at once; PROMPT_PART unless given. */
  readonly promptPart?: number;
  /** Tokens that it can hold. */
  readonly contextLength: number;
}
