/** A possible next token. Lists of candidates are ordered: highest logit first, ties by token. */
export interface Candidate {
  readonly token: number;
  readonly logit: number;
}

/**
 * The k most likely tokens (Fan et al. 2018), in order.
 * @param logits by token; NaN is never a candidate
 * @param k 0: all of them
 */
export function topK(logits: Float32Array, k: number): Candidate[] {
  if (k === 0 || k >= logits.length) return all(logits);
  if (k === 1) return mostLikely(logits);
  const best: Candidate[] = [];
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number;
    const last = best.length < k ? Number.NEGATIVE_INFINITY : (best[k - 1] as Candidate).logit;
    // Ties go to the earlier token, which is already in the list; a NaN compares false.
    if (!(logit > last || (best.length < k && logit === last))) continue;
    best.splice(placeOf(logit, best), 0, { token, logit });
    if (best.length > k) best.pop();
  }
  return best;
}

/** The most likely token, the first of equals; none if no logit is a number. */
function mostLikely(logits: Float32Array): Candidate[] {
  let [best, highest] = [-1, Number.NEGATIVE_INFINITY];
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token] as number;
    if (logit > highest || (best < 0 && logit === highest)) [best, highest] = [token, logit];
  }
  return best < 0 ? [] : [{ token: best, logit: highest }];
}

/** Most tokens for the sort keys: 53 bits hold 32 of the logit and 21 of the token. */
const MOST_TOKENS = 2 ** 21;

/**
 * All candidates in order. They are encoded as numbers that sort in this order, which takes a tenth of the time of
 * sorting objects.
 */
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
    // Positive floats are ordered like their bits, negative ones in reverse.
    const bits = view[0] as number;
    keys[numbers++] = -(bits < 0 ? bits ^ 0x7fffffff : bits) * MOST_TOKENS + token;
  }
  return Array.from(keys.subarray(0, numbers).sort(), (key) => {
    const token = ((key % MOST_TOKENS) + MOST_TOKENS) % MOST_TOKENS;
    return { token, logit: logits[token] as number };
  });
}

/** The index after all candidates that are at least as likely, by bisection. */
function placeOf(logit: number, best: readonly Candidate[]): number {
  let [low, high] = [0, best.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((best[middle] as Candidate).logit >= logit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** softmax: e^(logit − highest)/Σ, in the candidates' order. Subtracting the highest keeps the powers finite. */
export function probabilities(candidates: readonly Candidate[]): number[] {
  const highest = candidates[0]?.logit ?? 0;
  // If the highest logit is infinite, the candidates with it share the probability.
  const powers = candidates.map(({ logit }) => (logit === highest ? 1 : Math.exp(logit - highest)));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
}

/**
 * The nucleus (Holtzman et al. 2020): the fewest most likely candidates whose probabilities sum to at least p, at least
 * one.
 * @param p 1: all of them
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

/**
 * The candidates at least `minP` times as likely as the most likely one (Nguyen et al. 2024): logit ≥ highest + ln minP.
 * @param minP 0: all of them
 */
export function minP(candidates: readonly Candidate[], minP: number): readonly Candidate[] {
  const least = (candidates[0]?.logit ?? 0) + Math.log(minP);
  return minP === 0 ? candidates : candidates.filter(({ logit }) => logit >= least);
}

/**
 * Draws one of the candidates with its probability at a temperature, softmax(logit/temperature): the first at which the
 * cumulative probability exceeds `uniform`.
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
  // Rounding may leave the total below a uniform number close to 1.
  return (candidates.at(index) as Candidate).token;
}
