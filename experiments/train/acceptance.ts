import type { Transformer } from '../../engine/runtime/pass/transformer.ts';
import { greedyText, mostLikely, predictions } from './predictions.ts';

/** How often a target model accepts what a draft model proposes. */
export interface Acceptance {
  /** Tokens that were judged. */
  readonly tokens: number;
  /** Share of the target's greedy tokens that are the draft's too, after the same text. */
  readonly greedy: number;
  /**
   * Mean of Σ min(p, q) over the tokens' distributions p and q: the share that is accepted if both draw at temperature 1
   * (Leviathan et al. 2023, Theorem 3.5).
   */
  readonly drawn: number;
}

/** Most tokens that the target continues a prompt with. */
const TOKENS = 64;

/**
 * Measures the acceptance of a draft's tokens along the target's greedy continuations.
 * @param prompts tokens of texts that begin
 */
export function acceptance(
  target: Transformer,
  draft: Transformer,
  prompts: readonly (readonly number[])[],
  stops: ReadonlySet<number>,
): Acceptance {
  let [tokens, greedy, drawn] = [0, 0, 0];
  for (const prompt of prompts) {
    const text = greedyText(target, prompt, { tokens: TOKENS, stops });
    const wanted = predictions(target, text).slice(prompt.length - 1);
    const proposed = predictions(draft, text).slice(prompt.length - 1);
    for (const [index, p] of wanted.entries()) {
      const q = proposed[index] as Float32Array;
      tokens++;
      if (mostLikely(q) === text[prompt.length + index]) greedy++;
      drawn += p.reduce((sum, probability, token) => sum + Math.min(probability, q[token] as number), 0);
    }
  }
  return { tokens, greedy: greedy / tokens, drawn: drawn / tokens };
}
