/** Throughput of a batch over that of one request. */
export interface BatchGain {
  readonly batch: number;
  readonly gain: number;
}

/** What bisection may take: halving a share to below a part in 1e12. */
const STEPS = 40;

/**
 * The least that the worst error can be, over a row of gains, of any law by which a further request costs a step no less
 * than the one before: so is every sum and every maximum of work that is done once and work that every request repeats. A
 * gain of g for b requests is a step of b / g times a single one's.
 */
export function convexFloor(gains: readonly BatchGain[]): number {
  let [from, to] = [0, 1];
  for (let step = 0; step < STEPS; step++) {
    const middle = (from + to) / 2;
    if (isConvexWithin(gains, middle)) to = middle;
    else from = middle;
  }
  return to;
}

/** A convex law lies between two curves where the hull of the upper one lies above the lower one. */
function isConvexWithin(gains: readonly BatchGain[], error: number): boolean {
  const upper = [
    { batch: 1, step: 1 },
    ...gains.map(({ batch, gain }) => ({ batch, step: batch / (gain * (1 - error)) })),
  ];
  const hull = (at: number): number =>
    Math.min(
      ...upper.flatMap((left) =>
        upper.flatMap((right) => {
          if (left.batch === right.batch) return left.batch === at ? [left.step] : [];
          if (left.batch > at || right.batch < at) return [];
          const share = (at - left.batch) / (right.batch - left.batch);
          return [left.step + share * (right.step - left.step)];
        }),
      ),
    );
  return gains.every(({ batch, gain }) => hull(batch) >= batch / (gain * (1 + error)));
}
