import type { Sampler } from './sampler.ts';

/** Penalties on tokens that a text already has, as the OpenAI API defines them; 0 changes nothing. */
export interface OccurrencePenalties {
  /** Subtracted from a token's logit for each occurrence. */
  readonly frequency: number;
  /** Subtracted once if it occurs. */
  readonly presence: number;
}

/**
 * Makes tokens that occur in a text less likely: logit − frequency·count − presence·[count > 0].
 * @param logits by token; not modified
 * @param text tokens; those outside the vocabulary are ignored
 */
export function penalizeOccurrences(
  logits: Float32Array,
  text: readonly number[],
  { frequency, presence }: OccurrencePenalties,
): Float32Array {
  if ((frequency === 0 && presence === 0) || text.length === 0) return logits;
  const penalized = logits.slice();
  for (const token of text) penalized[token] = (penalized[token] ?? 0) - frequency;
  for (const token of new Set(text)) penalized[token] = (penalized[token] ?? 0) - presence;
  return penalized;
}

/**
 * A sampler after penalties on generated tokens.
 * @param promptTokens tokens at the beginning of the history that don't count
 */
export function withOccurrencePenalties(
  sampler: Sampler,
  promptTokens: number,
  penalties: OccurrencePenalties,
): Sampler {
  return (logits, history) => sampler(penalizeOccurrences(logits, history.slice(promptTokens), penalties), history);
}
