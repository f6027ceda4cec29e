import type { ExpertsPolicy } from '../experts/experts-policy.ts';

/**
 * How the layers of a device's next window are loaded while other devices compute:
 * - `none`: page faults load them;
 * - `willneed`: the operating system is advised in small calls (MADV_WILLNEED; prima.cpp 3.1);
 * - `willneed-whole`: the same in one call for the whole window, as in prima.cpp's source. Linux reads the first few
 *   MiB of such a call and leaves the rest to page faults;
 * - `populate`: a helper thread reads them (MADV_POPULATE_READ).
 */
export const PREFETCHES = ['none', 'willneed', 'willneed-whole', 'populate'] as const;
/** How a device loads weights before a window runs. */
export type Prefetch = (typeof PREFETCHES)[number];

/**
 * Treatment of a window after it has run:
 * - `none`: the operating system decides;
 * - `drop`: its pages are released;
 * - `pinned`: some of the device's weights always stay in memory: the head's output layer first, then a prefix of every
 *   window, of equal size. The rest is released.
 */
export const RELEASES = ['none', 'drop', 'pinned'] as const;
export type Release = (typeof RELEASES)[number];

/** A policy of the prefetches and pinned bytes that are decided, or `Open`. */
type Policy<Open> = Experts &
  (
    | { readonly prefetch: Prefetch | Open; readonly release: 'none' | 'drop' }
    | { readonly prefetch: Prefetch | Open; readonly release: 'pinned'; readonly pinned: number | Open }
  );

/** The part of a policy that is about experts. */
interface Experts {
  /**
   * How the experts of a mixture are cached and read; the rest of the policy is about all other weights then. Missing:
   * experts are mapped like other weights.
   */
  readonly experts?: ExpertsPolicy;
}

/**
 * How a device manages its mapped weights, beyond what its operating system does. `pinned` is in bytes. `fit` leaves a
 * choice open until the device's memory is known (fitPolicy): as many pinned bytes as fit, and `populate` if there is
 * room for the window that it reads ahead.
 */
export type WeightsPolicy = Policy<'fit'>;

/** A policy without open choices. */
export type FittedPolicy = Policy<never>;

export const NO_WEIGHTS_POLICY = { prefetch: 'none', release: 'none' } as const satisfies FittedPolicy;

/** The policy that reads the fewest bytes in a cyclic scan. */
export const FIT_POLICY = { prefetch: 'fit', release: 'pinned', pinned: 'fit' } as const satisfies WeightsPolicy;

export function isFitted(policy: WeightsPolicy): policy is FittedPolicy {
  return policy.prefetch !== 'fit' && (policy.release !== 'pinned' || policy.pinned !== 'fit');
}

/** Bytes of weights that always stay in memory under a policy. */
export function pinnedBytesOf(policy: FittedPolicy): number {
  return policy.release === 'pinned' ? policy.pinned : 0;
}

export interface PinnedWeightsCase {
  /** k */
  readonly rounds: number;
  /** S: mapped weights of one device, including the head's output layer, bytes. */
  readonly mapped: number;
  /** A: memory for weights, less what must be free while weights are being read, bytes. */
  readonly room: number;
}

/**
 * P: the most bytes of a device's weights that can always stay in memory while the rest is read and released window by
 * window, for k windows of equal size. The output layer and a prefix of every window stay, and there must be room for
 * the rest of one window: P + (S − P) / k = A, so that P = (k A − S) / (k − 1), and S − P = k (S − A) / (k − 1) bytes
 * are read for a token, which tends to Eq. 15's S − A (prima.cpp A.3) as k grows. With one round the rest is read by
 * page faults, and P = A.
 * @returns bytes from 0 to S
 */
export function largestPinnedBytes({ rounds, mapped, room }: PinnedWeightsCase): number {
  const pinned = rounds === 1 ? room : (rounds * room - mapped) / (rounds - 1);
  return Math.max(0, Math.min(pinned, mapped));
}

export interface FitCase {
  /** Bytes of the layers of each of the device's windows. */
  readonly windows: readonly number[];
  /** Bytes of the output layer; 0 on devices without it. */
  readonly output: number;
  /** A: memory for weights, less what must be free while weights are being read, bytes. */
  readonly room: number;
}

/**
 * Decides a policy's open choices. The unpinned rest of the largest window must fit together with the pinned weights; with k
 * as all windows' bytes divided by those of the largest, this is largestPinnedBytes. If it doesn't fit even with
 * nothing pinned, or if there is only one window, a prefetched window would evict itself before it runs: then P = A,
 * and the rest is read by page faults.
 */
export function fitPolicy(policy: WeightsPolicy, { windows, output, room }: FitCase): FittedPolicy {
  const layers = windows.reduce((sum, bytes) => sum + bytes, 0);
  const mapped = layers + output;
  const largest = Math.max(0, ...windows);
  const rounds = largest === 0 ? 1 : layers / largest;
  const passes = mapped <= room || (rounds > 1 && largest + output <= room);
  const prefetch = policy.prefetch === 'fit' ? (passes ? 'populate' : 'none') : policy.prefetch;
  const experts = policy.experts && { experts: policy.experts };
  if (policy.release !== 'pinned') return { prefetch, release: policy.release, ...experts };
  if (policy.pinned !== 'fit') return { prefetch, release: 'pinned', pinned: policy.pinned, ...experts };
  const fits = mapped <= room || prefetch === 'none' || rounds === 1;
  const pinned = Math.floor(largestPinnedBytes({ rounds: fits ? 1 : rounds, mapped, room }));
  return { prefetch, release: 'pinned', pinned, ...experts };
}
