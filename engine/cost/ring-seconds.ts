/** What bounds a token's time in a ring, seconds; see ManagedWindow. */
export interface RingBounds {
  /** k */
  readonly rounds: number;
  /** The token's way around the ring: all rounds, hops and the output layer. */
  readonly seconds: number;
  readonly outputSeconds: number;
  /** d: the longest `roundSeconds` of all windows. */
  readonly roundSeconds: number;
}

/**
 * TPOT of a ring whose devices read their next window while others compute. A round takes the longer of p, the token's
 * way around the ring, and d, what the slowest disk needs between two windows; the output layer, o, lengthens the last
 * round: T = (k − 1) max(p, d) + max(p + o, d).
 *
 * A system that is linear over (max, +) runs at the pace of its slowest circuit; the circuits are the ring, and each
 * device's own cycle of reading and computing.
 */
export function ringSeconds(bounds: RingBounds): number {
  const { rounds, outputSeconds, roundSeconds } = bounds;
  const pass = passSeconds(bounds);
  return (rounds - 1) * Math.max(pass, roundSeconds) + Math.max(pass + outputSeconds, roundSeconds);
}

/** p: the token's way once around the ring, seconds. */
export function passSeconds({ rounds, seconds, outputSeconds }: RingBounds): number {
  return (seconds - outputSeconds) / rounds;
}
