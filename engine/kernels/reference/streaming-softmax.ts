/**
 * What a head has seen of a context so far: the largest score m, the sum s of e^(score − m), and the values weighted so, o.
 * o/s is the attention over what was seen.
 */
export interface SeenScores {
  readonly largest: number;
  readonly total: number;
  readonly sums: ArrayLike<number>;
}

/** Before anything is seen: m = −∞, s = 0, o = 0 (HELM Algorithm 3, line 1). */
export function nothingSeen(headSize: number): SeenScores {
  return { largest: Number.NEGATIVE_INFINITY, total: 0, sums: new Float64Array(headSize) };
}

/**
 * Merges a page of positions into what was seen, in any order of pages:
 * m_i = max(m_{i−1}, max_j e_ij), s_i = e^(m_{i−1} − m_i) s_{i−1} + Σ_j e^(e_ij − m_i), and o_i likewise with values
 * (HELM Eqs. 4.18–4.20). A page without positions changes nothing.
 * @param scores e_ij, one for each position
 * @param valueAt v_ij of a position, as long as `sums`
 */
export function seePage(
  { largest, total, sums }: SeenScores,
  scores: ArrayLike<number>,
  valueAt: (position: number) => ArrayLike<number>,
): SeenScores {
  let newLargest = largest;
  for (let j = 0; j < scores.length; j++) newLargest = Math.max(newLargest, scores[j] as number);
  if (newLargest === Number.NEGATIVE_INFINITY) return { largest, total, sums };
  const rescale = Math.exp(largest - newLargest);
  let newTotal = rescale * total;
  const newSums = Float64Array.from(sums, (sum) => rescale * sum);
  for (let j = 0; j < scores.length; j++) {
    const weight = Math.exp((scores[j] as number) - newLargest);
    const value = valueAt(j);
    newTotal += weight;
    for (let i = 0; i < newSums.length; i++) newSums[i]! += weight * (value[i] as number);
  }
  return { largest: newLargest, total: newTotal, sums: newSums };
}
