/**
 * Spearman's rank correlation: 1 where two lists order things alike, −1 where one reverses the other; equal values
 * share the mean of their ranks. NaN for fewer than two values, or where one list is constant.
 */
export function rankCorrelation(one: ArrayLike<number>, other: ArrayLike<number>): number {
  const [a, b] = [ranks(one), ranks(other)];
  const mean = (a.length - 1) / 2;
  let [product, squaresA, squaresB] = [0, 0, 0];
  for (let index = 0; index < a.length; index++) {
    const [x, y] = [(a[index] as number) - mean, (b[index] as number) - mean];
    product += x * y;
    squaresA += x * x;
    squaresB += y * y;
  }
  return product / Math.sqrt(squaresA * squaresB);
}

/** From 0. */
function ranks(values: ArrayLike<number>): Float64Array {
  const order = Uint32Array.from({ length: values.length }, (_, index) => index);
  order.sort((i, j) => (values[i] as number) - (values[j] as number));
  const ranks = new Float64Array(values.length);
  for (let from = 0; from < order.length; ) {
    let to = from + 1;
    while (to < order.length && values[order[to] as number] === values[order[from] as number]) to++;
    for (let at = from; at < to; at++) ranks[order[at] as number] = (from + to - 1) / 2;
    from = to;
  }
  return ranks;
}
