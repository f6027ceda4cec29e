import { topK } from '../../text/sampling/candidates.ts';

export interface TokenLogprob {
  readonly token: number;
  /** Natural logarithm of its probability. */
  readonly logprob: number;
}

/**
 * The `most` most probable tokens, most probable first, and then `chosen` unless it is among them: logit − log Σ
 * e^logit.
 */
export function tokenLogprobs(logits: Float32Array, chosen: number, most: number): TokenLogprob[] {
  const largest = logits.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const total = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - largest), 0)) + largest;
  const top = most === 0 ? [] : topK(logits, most).map(({ token }) => token);
  const tokens = top.includes(chosen) ? top : [...top, chosen];
  return tokens.map((token) => ({ token, logprob: (logits[token] as number) - total }));
}
