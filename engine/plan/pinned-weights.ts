export interface PinnedWeightsCase {
  /** k */
  readonly rounds: number;
  /** S: mapped weights of one device, the head's output layer among them, bytes. */
  readonly mapped: number;
  /** A: memory for them, less what has to be free while weights are on their way, bytes. */
  readonly room: number;
}

/**
 * P: the most bytes of a device's weights that can stay in memory for good while the rest passes through, in k windows of
 * one size. The output layer and a prefix of every window stay; beside them there is room for the rest of one window:
 * P + (S − P) / k = A, so that P = (k A − S) / (k − 1), and S − P = k (S − A) / (k − 1) bytes are read for a token, which
 * tends to Eq. 15's S − A (prima.cpp A.3) as k grows. With one round the rest passes as page faults, and P = A.
 * @returns bytes from 0 to S
 */
export function largestPinnedBytes({ rounds, mapped, room }: PinnedWeightsCase): number {
  const pinned = rounds === 1 ? room : (rounds * room - mapped) / (rounds - 1);
  return Math.max(0, Math.min(pinned, mapped));
}
