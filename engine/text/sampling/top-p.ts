import type { Candidate } from './candidate.ts';
import { probabilities } from './probabilities.ts';

/**
 * The nucleus (Holtzman et al. 2020): the fewest most likely candidates whose probabilities sum to at least p.
 * @param p 1: all of them; the first stays in any case
 */
export function topP(candidates: readonly Candidate[], p: number): readonly Candidate[] {
  if (p >= 1) return candidates;
  let sum = 0;
  const end = probabilities(candidates).findIndex((probability) => {
    sum += probability;
    return sum >= p;
  });
  return end < 0 ? candidates : candidates.slice(0, end + 1);
}
