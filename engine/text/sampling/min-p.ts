import type { Candidate } from './candidate.ts';

/**
 * The candidates at least `minP` times as likely as the most likely one (Nguyen et al. 2024): logit ≥ highest + ln minP.
 * @param minP 0: all of them
 */
export function minP(candidates: readonly Candidate[], minP: number): readonly Candidate[] {
  const least = (candidates[0]?.logit ?? 0) + Math.log(minP);
  return minP === 0 ? candidates : candidates.filter(({ logit }) => logit >= least);
}
