import type { Candidate } from './candidate.ts';

/** softmax: e^(logit − highest)/Σ, in the candidates' order. Subtracting the highest keeps the powers finite. */
export function probabilities(candidates: readonly Candidate[]): number[] {
  const highest = candidates[0]?.logit ?? 0;
  // Where the highest is infinite, the candidates that share it share the whole.
  const powers = candidates.map(({ logit }) => (logit === highest ? 1 : Math.exp(logit - highest)));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}
