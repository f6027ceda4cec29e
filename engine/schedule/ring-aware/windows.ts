import { pageTables } from '../../cost/reclaim.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import { lastLayerSeconds, weightReads } from '../../cost/weight-reads.ts';
import type { ProcessorKind } from '../../hardware/device.ts';
import type { WindowSize } from '../../plan/ring-plan.ts';
import { type FittedPolicy, largestPinnedBytes, NO_WEIGHTS_POLICY } from '../../plan/weights-policy.ts';

/**
 * Location of a device's mapped weights when its window runs:
 * - `resident`: all of them stay in memory;
 * - `prefetched`: a part is pinned, and the rest is read ahead for every round while other devices compute;
 * - `faulted`: a part is pinned, and page faults read the rest.
 */
export type Residence = 'resident' | 'prefetched' | 'faulted';

/** A device's window in every round under one weights policy, and the seconds that it takes for a token. */
export interface ManagedWindow extends WindowSize {
  readonly residence: Residence;
  readonly policy: FittedPolicy;
  /** Compute, memory, copies, and reads that nothing hides, over all rounds: a token has to pass through them. */
  readonly seconds: number;
  /** The part of `seconds` at the end of a token, on the head: output layer and lookup. */
  readonly outputSeconds: number;
  /** Least time from the end of the window in one round to its end in the next, for its reads; 0 without prefetch. */
  readonly roundSeconds: number;
}

/** A device's window in every round, before its weights policy is decided. */
export interface WindowLoad {
  /** k */
  readonly rounds: number;
  /** w */
  readonly layers: number;
  /** n */
  readonly gpuLayers: number;
  /** The processor that runs the output layer, on the head; undefined on other devices. */
  readonly output: ProcessorKind | undefined;
  /** Granularity of the page cache, bytes: IN_FLIGHT_EXTENTS of them are left free for reads under way. */
  readonly extentBytes: number;
  /** See SchedulingProblem. */
  readonly maxPressure?: number | undefined;
}

/** Calibrated: with no extent free the simulator's page cache thrashes, with two to four it does not. */
const IN_FLIGHT_EXTENTS = 4;

/**
 * The window under every residence that its memory allows, each with its best policy. With S bytes of mapped weights,
 * of which O are the head's output layer, and A bytes of memory for them:
 * - `resident`, if S ≤ A: nothing is read.
 * - `prefetched`, if k > 1 and one window with the output layer fits in A: P bytes stay for good (largestPinnedBytes),
 *   the output layer among them; the rest of a window is given back after it has run, and the rest of the next is read.
 *   Reads begin when a window has run and may last until the next has, less the time of the layers that can only be
 *   computed after the last byte.
 * - `faulted`, if S > A: P = A, and page faults read S − P bytes, which delays the token (prima.cpp Eq. 15). Linux and
 *   Android read ahead, so that layers that have arrived are computed while others arrive.
 * With a limit to memory pressure, P is at most what KV cache and buffers leave of it.
 * @returns an empty list if KV cache and buffers exceed the RAM, or the limit
 */
export function managedWindows(costs: RingCosts, device: DeviceCosts, load: WindowLoad): ManagedWindow[] {
  const { rounds, layers, gpuLayers, output, extentBytes, maxPressure } = load;
  const layersInRam = rounds * (layers - gpuLayers + (device.unified ? gpuLayers : 0));
  const fixed = device.ramBuffers + layersInRam * costs.kvBytes;
  const left = device.available - fixed;
  const pinnable = maxPressure === undefined ? Number.POSITIVE_INFINITY : maxPressure * device.installed - fixed;
  const holds = layers > 0 || output !== undefined;
  if (left < 0 || (holds && pinnable < 0)) return [];
  const windows = layersInRam * costs.layerBytes;
  const outputBytes = output === 'cpu' || (output === 'gpu' && device.unified) ? costs.outputBytes : 0;
  const lookup = output === undefined ? 0 : costs.embeddingRowBytes;
  const mapped = windows + outputBytes;
  const room = left - lookup - pageTables(device.kind) * (mapped + lookup);
  const rate = device.reloadRate;

  const ownOutput = output === undefined ? 0 : outputOn(device, output);
  const outputSeconds = ownOutput + lookup / rate;
  const seconds = rounds * windowSeconds(device, load) + outputSeconds;
  const weights = {
    device,
    rounds,
    windowBytes: windows,
    outputBytes,
    room,
    windowSeconds: rounds * ramSeconds(device, load),
    outputSeconds: ownOutput,
    lastSeconds: lastLayerSeconds(device, gpuLayers),
  };
  // A literal of one shape: thousands of windows are made for every plan.
  const window = (residence: Residence, policy: FittedPolicy): ManagedWindow => {
    const { windowWait, outputWait, roundSeconds } = weightReads({ ...weights, policy });
    return {
      device: device.name,
      layers,
      gpuLayers,
      residence,
      policy,
      seconds: seconds + windowWait + outputWait,
      outputSeconds: outputSeconds + outputWait,
      roundSeconds,
    };
  };
  if (mapped <= room) return [window('resident', NO_WEIGHTS_POLICY)];

  const usable = room - IN_FLIGHT_EXTENTS * extentBytes;
  const kept = Math.min(pinnable, largestPinnedBytes({ rounds: 1, mapped, room: usable }));
  const faulted = window(
    'faulted',
    kept > 0 ? { prefetch: 'none', release: 'pinned', pinned: kept } : NO_WEIGHTS_POLICY,
  );
  if (rounds === 1 || windows === 0 || windows / rounds + outputBytes > usable) return [faulted];
  const pinned = Math.min(pinnable, largestPinnedBytes({ rounds, mapped, room: usable }));
  const prefetched = window(
    'prefetched',
    pinned > 0 ? { prefetch: 'populate', release: 'pinned', pinned } : { prefetch: 'populate', release: 'drop' },
  );
  return [faulted, prefetched];
}

/** Seconds of the window's layers in RAM, compute and memory, in one round. */
function ramSeconds(device: DeviceCosts, { layers, gpuLayers }: WindowLoad): number {
  const onGpu = device.unified && gpuLayers > 0 ? gpuLayers * device.gpuLayer : 0;
  return (layers - gpuLayers) * device.cpuLayer + onGpu;
}

/** Seconds of the window in one round: compute, memory and copies. */
function windowSeconds(device: DeviceCosts, { layers, gpuLayers }: WindowLoad): number {
  if (layers === 0) return 0;
  const onGpu = gpuLayers === 0 ? 0 : gpuLayers * device.gpuLayer;
  return (layers - gpuLayers) * device.cpuLayer + onGpu + device.windowCopy;
}

function outputOn(device: DeviceCosts, processor: ProcessorKind): number {
  return processor === 'cpu' ? device.outputOnCpuTotal : device.outputOnGpuTotal;
}
