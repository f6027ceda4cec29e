/** What bisection may take: halving a range of 1e12 to below a part in 1e9. */
const STEPS = 80;

/**
 * The constant at which a model's answer is `target`, between `low` and `high`, by bisection on a logarithmic scale.
 * @param answer rises or falls with the constant throughout
 * @throws RangeError where the target lies outside what the ends give
 */
export function fitConstant(
  target: number,
  [low, high]: readonly [number, number],
  answer: (constant: number) => number,
): number {
  const rises = answer(high) > answer(low);
  const [least, most] = rises ? [answer(low), answer(high)] : [answer(high), answer(low)];
  if (!(target >= least && target <= most)) {
    throw new RangeError(`no constant between ${low} and ${high} gives ${target}: the ends give ${least} and ${most}`);
  }
  let [from, to] = [low, high];
  for (let step = 0; step < STEPS; step++) {
    const middle = Math.sqrt(from * to);
    if (answer(middle) < target === rises) from = middle;
    else to = middle;
  }
  return Math.sqrt(from * to);
}
