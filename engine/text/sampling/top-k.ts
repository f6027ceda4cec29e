import type { Candidate } from './candidate.ts';

/**
 * The k most likely tokens (Fan et al. 2018), in order.
 * @param logits by token; NaN never is a candidate
 * @param k 0: all of them
 */
export function topK(logits: Float32Array, k: number): Candidate[] {
  if (k === 0 || k >= logits.length) return all(logits);
  const best: Candidate[] = [];
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number;
    const last = best.length < k ? Number.NEGATIVE_INFINITY : (best[k - 1] as Candidate).logit;
    // Ties go to the earlier token, which is there already; a NaN compares false.
    if (!(logit > last || (best.length < k && logit === last))) continue;
    best.splice(placeOf(logit, best), 0, { token, logit });
    if (best.length > k) best.pop();
  }
  return best;
}

function all(logits: Float32Array): Candidate[] {
  return Array.from(logits, (logit, token) => ({ token, logit }))
    .filter(({ logit }) => !Number.isNaN(logit))
    .sort((a, b) => (a.logit === b.logit ? a.token - b.token : b.logit - a.logit));
}

/** Behind all that are at least as likely, by bisection. */
function placeOf(logit: number, best: readonly Candidate[]): number {
  let [low, high] = [0, best.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((best[middle] as Candidate).logit >= logit) low = middle + 1;
    else high = middle;
  }
  return low;
}
