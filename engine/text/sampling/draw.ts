import type { Candidate } from './candidate.ts';
import { probabilities } from './probabilities.ts';

/**
 * One of the candidates, each with its probability at a temperature, softmax(logit/temperature): the first whose sum of
 * probabilities exceeds `uniform`.
 * @param candidates at least one
 * @param temperature above 0
 * @param uniform in [0, 1)
 */
export function draw(candidates: readonly Candidate[], temperature: number, uniform: number): number {
  const tempered = candidates.map(({ token, logit }) => ({ token, logit: logit / temperature }));
  let sum = 0;
  const index = probabilities(tempered).findIndex((probability) => {
    sum += probability;
    return sum > uniform;
  });
  // Rounding may leave the sum of all below a uniform number close to 1.
  return (candidates.at(index) as Candidate).token;
}
