import { type TokenLogprob, tokenLogprobs } from './logprobs.ts';

/** Probabilities of a prompt's tokens as its passes find them. */
export interface PromptLogprobs {
  /** Log probabilities of each token from the second on, as far as they are known. */
  readonly list: readonly (readonly TokenLogprob[])[];
  readonly isComplete: boolean;
  /** The prompt is evaluated from its first token on, perhaps again. */
  begin(): void;
  /**
   * Takes the logits after each token of a pass, [tokens][vocabulary].
   * @returns those after the last one
   */
  take(logits: Float32Array, vocabularySize: number): Float32Array;
}

/** @param most the number of most probable tokens with each one */
export function createPromptLogprobs(prompt: readonly number[], most: number): PromptLogprobs {
  const list: TokenLogprob[][] = [];
  let position = 0;
  return {
    list,
    get isComplete() {
      return list.length === prompt.length - 1;
    },
    begin() {
      position = 0;
    },
    take(logits, vocabularySize) {
      const rows = logits.length / vocabularySize;
      const rowOf = (row: number): Float32Array => logits.subarray(row * vocabularySize, (row + 1) * vocabularySize);
      for (let row = 0; row < rows; row++, position++) {
        const next = prompt[position + 1];
        // After a preemption, tokens are evaluated again.
        if (next !== undefined && position === list.length) list.push(tokenLogprobs(rowOf(row), next, most));
      }
      return rowOf(rows - 1);
    },
  };
}
