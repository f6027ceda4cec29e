/**
 * How the layers of a device's next window are asked for while others compute:
 * - `none`: page faults load them;
 * - `willneed`: the operating system is advised, in small calls (MADV_WILLNEED; prima.cpp §3.1);
 * - `willneed-whole`: the same in one call for a window, as prima.cpp's source does it. Linux reads the first few MiB of
 *   such a call and leaves the rest to page faults;
 * - `populate`: a helper thread reads them in.
 */
export const PREFETCHES = ['none', 'willneed', 'willneed-whole', 'populate'] as const;
export type Prefetch = (typeof PREFETCHES)[number];

/**
 * What becomes of a window after its turn:
 * - `none`: the operating system decides;
 * - `drop`: its pages are given back;
 * - `pinned`: some of the device's weights stay for good, the head's output layer first, then a prefix of every window,
 *   of equal size; the rest is given back.
 */
export const RELEASES = ['none', 'drop', 'pinned'] as const;
export type Release = (typeof RELEASES)[number];

type Policy<Open> =
  | { readonly prefetch: Prefetch | Open; readonly release: 'none' | 'drop' }
  | { readonly prefetch: Prefetch | Open; readonly release: 'pinned'; readonly pinned: number | Open };

/**
 * What a device does with its mapped weights beyond what its operating system does. `pinned` is in bytes. `fit` leaves a
 * choice to the device's memory (fitPolicy): as many pinned bytes as there is room for, and `populate` where there is
 * room for what it reads ahead.
 */
export type WeightsPolicy = Policy<'fit'>;

/** A policy that leaves nothing open. */
export type FittedPolicy = Policy<never>;

export const NO_WEIGHTS_POLICY = { prefetch: 'none', release: 'none' } as const satisfies FittedPolicy;

/** The best that a cyclic scan allows. */
export const FIT_POLICY = { prefetch: 'fit', release: 'pinned', pinned: 'fit' } as const satisfies WeightsPolicy;

export function isFitted(policy: WeightsPolicy): policy is FittedPolicy {
  return policy.prefetch !== 'fit' && (policy.release !== 'pinned' || policy.pinned !== 'fit');
}

/** Bytes of weights that stay for good under a policy. */
export function pinnedBytesOf(policy: FittedPolicy): number {
  return policy.release === 'pinned' ? policy.pinned : 0;
}

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

export interface FitCase {
  /** Layers of each window of the device, bytes. */
  readonly windows: readonly number[];
  /** Output layer, bytes; 0 on devices without it. */
  readonly output: number;
  /** A: memory for weights, less what has to be free while weights are on their way, bytes. */
  readonly room: number;
}

/**
 * Decides what a policy leaves open. While a window passes through, the rest of the largest window has to fit beside
 * what stays: with the largest one having 1 / k of all windows' bytes that is largestPinnedBytes. Where it doesn't fit
 * even with nothing pinned, or there is one window only, a prefetched window would push itself out before its turn: then
 * P = A, and the rest comes by page faults.
 */
export function fitPolicy(policy: WeightsPolicy, { windows, output, room }: FitCase): FittedPolicy {
  const layers = windows.reduce((sum, bytes) => sum + bytes, 0);
  const mapped = layers + output;
  const largest = Math.max(0, ...windows);
  const rounds = largest === 0 ? 1 : layers / largest;
  const passes = mapped <= room || (rounds > 1 && largest + output <= room);
  const prefetch = policy.prefetch === 'fit' ? (passes ? 'populate' : 'none') : policy.prefetch;
  if (policy.release !== 'pinned') return { prefetch, release: policy.release };
  if (policy.pinned !== 'fit') return { prefetch, release: 'pinned', pinned: policy.pinned };
  const fits = mapped <= room || prefetch === 'none' || rounds === 1;
  const pinned = Math.floor(largestPinnedBytes({ rounds: fits ? 1 : rounds, mapped, room }));
  return { prefetch, release: 'pinned', pinned };
}
