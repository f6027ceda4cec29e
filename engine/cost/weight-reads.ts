import { readsAhead } from '../hardware/device.ts';
import { type FittedPolicy, pinnedBytesOf } from '../plan/weights-policy.ts';
import type { ReclaimPolicy } from './reclaim.ts';
import type { DeviceCosts } from './ring-costs.ts';
import { type RoutedWeights, readOfMissing, reclaimOfRouted } from './routed-reads.ts';

/** A device's mapped weights in a ring, the memory that they have, and what it computes with them. */
export interface MappedWeights {
  readonly device: Pick<DeviceCosts, 'kind' | 'reloadRate'>;
  readonly policy: FittedPolicy;
  /** Reclaim policy of the operating system for weights that a policy doesn't release; `lru` unless given. */
  readonly reclaim?: ReclaimPolicy | undefined;
  /** k */
  readonly rounds: number;
  /** Bytes of the layers of all windows, and of the head's output layer. */
  readonly windowBytes: number;
  readonly outputBytes: number;
  /** Experts among them; none unless given. */
  readonly routed?: RoutedWeights | undefined;
  /** A: bytes of memory for them. */
  readonly room: number;
  /** Seconds of the layers in RAM over all rounds, and of the output layer. */
  readonly windowSeconds: number;
  readonly outputSeconds: number;
  /** Seconds of what can only be computed when the last byte of a window has arrived. */
  readonly lastSeconds: number;
}

/** Bytes that are read for a token, and how long reading takes. */
export interface WeightReads {
  /** Bytes that page faults read: they delay the token. */
  readonly faultedBytes: number;
  /** Bytes that are read while other devices compute. */
  readonly prefetchedBytes: number;
  /** Seconds by which page faults lengthen the windows of all rounds, and the output layer. */
  readonly windowWait: number;
  readonly outputWait: number;
  /** d: least time from the end of a window in one round to its end in the next, for its reads; 0 without prefetching. */
  readonly roundSeconds: number;
}

/**
 * The reads of a device that runs the same window in each of k rounds. With S bytes of mapped weights, of which P stay
 * for good, in A bytes of memory:
 * - S ≤ A: nothing is read.
 * - The device doesn't prefetch: page faults read the S − P bytes. A cyclic scan evicts every page just before it is
 *   used again, so that without pinning all of S is read.
 * - The device prefetches, k > 1, and P and the rest of a window, (S − P) / k, fit in A: S − P bytes are read ahead. The reads for a
 *   round begin when a window has run and may last until the next has, less the time of what can only be computed after
 *   the last byte: d = (S − P) / (k s^disk) + `lastSeconds`.
 * - The device prefetches, and a window doesn't fit: prefetching evicts the beginning of the window that it prefetches
 *   (prefetch-release, prima.cpp A.1). S − P bytes are read ahead in vain, and again by page faults.
 *
 * Under the reclaim policy `overflow` (Eq. 15), weights that are not released on request are read as far as they exceed
 * the memory, S − A bytes, and prefetching evicts nothing. So are experts, of which a token reads those that it uses
 * (routed-reads.ts).
 */
export function weightReads(weights: MappedWeights): WeightReads {
  const { device, policy, rounds, windowBytes, outputBytes, room, lastSeconds } = weights;
  const mapped = windowBytes + outputBytes;
  if (mapped <= room) return { faultedBytes: 0, prefetchedBytes: 0, windowWait: 0, outputWait: 0, roundSeconds: 0 };
  const { routed = NO_EXPERTS } = weights;
  const reclaim = reclaimOfRouted(weights.reclaim ?? 'lru', routed);
  const keepsWhatFits = reclaim === 'overflow' && policy.release === 'none' && device.kind !== 'macos-metal';
  const pinned = Math.min(keepsWhatFits ? room : pinnedBytesOf(policy), mapped);
  const rest = readOfMissing(mapped - pinned, routed);
  // One call for a whole window prefetches its first few MiB.
  const prefetches = policy.prefetch === 'willneed' || policy.prefetch === 'populate';
  const window = pinned > 0 ? pinned + rest / rounds : windowBytes / rounds + outputBytes;
  const fits = keepsWhatFits || (rounds > 1 && window <= room * (1 + ROUNDING));
  const prefetchedBytes = prefetches ? rest : 0;
  const faultedBytes = prefetches && fits ? 0 : rest;
  const reading = (faultedBytes + prefetchedBytes) / rounds / device.reloadRate;
  // The output layer comes first among the weights that stay.
  const missingOutput = faultedBytes === 0 ? 0 : Math.max(0, outputBytes - pinned);
  return {
    faultedBytes,
    prefetchedBytes,
    windowWait: waitSeconds(device, faultedBytes - missingOutput, windowBytes, weights.windowSeconds),
    outputWait: waitSeconds(device, missingOutput, outputBytes, weights.outputSeconds),
    roundSeconds: prefetches ? reading + lastSeconds : 0,
  };
}

const NO_EXPERTS: RoutedWeights = { bytes: 0, share: 1 };

/** The largest P fits exactly (largestPinnedBytes): a rounded sum may exceed A by this part of it. */
const ROUNDING = 1e-9;

/**
 * Seconds by which a computation of `seconds` takes longer if page faults read `missing` of its `bytes` (prima.cpp Eq.
 * 15). Where the operating system reads ahead, layers that have arrived are computed while others arrive.
 */
function waitSeconds(
  { kind, reloadRate }: MappedWeights['device'],
  missing: number,
  bytes: number,
  seconds: number,
): number {
  if (missing <= 0) return 0;
  return Math.max(0, missing / reloadRate - (readsAhead(kind) ? (missing / bytes) * seconds : 0));
}

/**
 * Seconds that remain of a window when its last mapped layer has arrived: that layer, and those on a GPU with its own
 * memory.
 * @param gpuLayers of the window
 */
export function lastLayerSeconds(device: DeviceCosts, gpuLayers: number): number {
  if (gpuLayers === 0) return device.cpuLayer + device.windowCopy;
  if (device.unified) return device.gpuLayer + device.windowCopy;
  return device.cpuLayer + gpuLayers * device.gpuLayer + device.windowCopy;
}
