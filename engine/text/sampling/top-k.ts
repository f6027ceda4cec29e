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

/** Tokens that a key has room for: 53 bits hold 32 of the logit and 21 of the token. */
const MOST_TOKENS = 2 ** 21;

/** All by their logits, ties by token: as numbers that sort so, since sorting numbers takes a tenth of the time. */
function all(logits: Float32Array): Candidate[] {
  if (logits.length > MOST_TOKENS)
    throw new RangeError(`${logits.length} logits; at most ${MOST_TOKENS} can be sorted`);
  const keys = new Float64Array(logits.length);
  const float = new Float32Array(1);
  const view = new Int32Array(float.buffer);
  let numbers = 0;
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number;
    if (Number.isNaN(logit)) continue;
    float[0] = logit + 0; // −0 becomes 0
    // Floats of one sign are in the order of their bits, negative ones reversed.
    const bits = view[0] as number;
    keys[numbers++] = -(bits < 0 ? bits ^ 0x7fffffff : bits) * MOST_TOKENS + token;
  }
  return Array.from(keys.subarray(0, numbers).sort(), (key) => {
    const token = ((key % MOST_TOKENS) + MOST_TOKENS) % MOST_TOKENS;
    return { token, logit: logits[token] as number };
  });
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
