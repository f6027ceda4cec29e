/** What bounds a token's time in a ring, seconds: see Turns. */
export interface RingBounds {
  /** k */
  readonly rounds: number;
  /** Around the ring, all rounds, hops and the output layer. */
  readonly seconds: number;
  readonly outputSeconds: number;
  /** The longest of all devices. */
  readonly roundSeconds: number;
}

/**
 * TPOT of a ring whose devices read their next window while others compute. A round takes what the token needs to get
 * around, p, or what the slowest disk needs from turn to turn, d, whichever is longer; the output layer, o, lengthens the
 * last: T = (k − 1) max(p, d) + max(p + o, d).
 *
 * A system that is linear over (max, +) runs at the pace of its slowest circuit, and there are the ring and each
 * device's own turns.
 */
export function ringSeconds(bounds: RingBounds): number {
  const { rounds, outputSeconds, roundSeconds } = bounds;
  const pass = passSeconds(bounds);
  return (rounds - 1) * Math.max(pass, roundSeconds) + Math.max(pass + outputSeconds, roundSeconds);
}

/** p: once around the ring. */
export function passSeconds({ rounds, seconds, outputSeconds }: RingBounds): number {
  return (seconds - outputSeconds) / rounds;
}
