import { largestPinnedBytes } from '../plan/pinned-weights.ts';
import type { WindowPolicy } from './window-policy.ts';

/** What a device is asked to do with its weights, and what is left to it. */
export interface RequestedPolicy {
  /** `auto`: `populate` where there is room for what it reads ahead, else `none`. */
  readonly prefetch: WindowPolicy['prefetch'] | 'auto';
  readonly release: WindowPolicy['release'];
  /** Of `pinned`: bytes, or 0 for as many as there is room for. */
  readonly pinnedBytes: number;
}

/** What a ring does unless its plan says something else: the best that a cyclic scan allows. */
export const PINNED_POLICY: RequestedPolicy = { prefetch: 'auto', release: 'pinned', pinnedBytes: 0 };

export interface PolicyCase {
  /** Layers of each window of the device, bytes. */
  readonly windows: readonly number[];
  /** Bytes of the output layer; 0 on devices without it. */
  readonly output: number;
  /** A: memory for weights, bytes. */
  readonly room: number;
}

/**
 * Decides what a request leaves open. While a window passes through, the rest of the largest window has to fit beside
 * what stays: with the largest one having 1 / k of all windows' bytes that is largestPinnedBytes. Where it doesn't fit
 * even with nothing pinned, or there is one window only, a prefetched window would push itself out before its turn: then
 * P = A, and the rest comes by page faults.
 */
export function fitPolicy(requested: RequestedPolicy, { windows, output, room }: PolicyCase): WindowPolicy {
  const { release, prefetch } = requested;
  const layers = windows.reduce((sum, bytes) => sum + bytes, 0);
  const mapped = layers + output;
  const largest = Math.max(0, ...windows);
  const rounds = largest === 0 ? 1 : layers / largest;
  const passes = mapped <= room || (rounds > 1 && largest + output <= room);
  const reads = prefetch === 'auto' ? (passes ? 'populate' : 'none') : prefetch;
  if (release !== 'pinned') return { prefetch: reads, release, pinnedBytes: 0 };
  if (requested.pinnedBytes > 0) return { prefetch: reads, release, pinnedBytes: requested.pinnedBytes };
  const fits = mapped <= room || reads === 'none' || rounds === 1;
  const pinnedBytes = largestPinnedBytes({ rounds: fits ? 1 : rounds, mapped, room });
  return { prefetch: reads, release, pinnedBytes: Math.floor(pinnedBytes) };
}
