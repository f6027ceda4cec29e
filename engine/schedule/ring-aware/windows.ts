import { PAGE_TABLES } from '../../cost/reclaim.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import type { ProcessorKind } from '../../hardware/device.ts';
import { type FittedPolicy, largestPinnedBytes, NO_WEIGHTS_POLICY } from '../../plan/weights-policy.ts';

/**
 * How a device has its mapped weights at its turns: `resident`, all of them stay in memory; `prefetched`, a part is
 * pinned and the rest is read for every turn while others have theirs; `faulted`, the rest is read as it is needed.
 */
export type Residence = 'resident' | 'prefetched' | 'faulted';

/** The turns of one device for a token, under one weights policy; seconds. */
export interface Turns {
  readonly residence: Residence;
  /** n */
  readonly gpuLayers: number;
  readonly policy: FittedPolicy;
  /** Compute, memory, copies, and reads that nothing hides: a token has to pass through all of them. */
  readonly seconds: number;
  /** The part of `seconds` that is the head's at the end of a token: output layer and lookup. */
  readonly outputSeconds: number;
  /** From the end of a turn to the end of the next, at least, for what has to be read; 0 if it doesn't prefetch. */
  readonly roundSeconds: number;
}

/** A window of a device in every round, before it is decided how it has its weights. */
export interface TurnLoad {
  /** k, and so the turns of a token. */
  readonly rounds: number;
  /** w */
  readonly layers: number;
  /** n */
  readonly gpuLayers: number;
  /** The device is the head, and runs the output layer here. */
  readonly output: ProcessorKind | undefined;
  /** Granularity of the page cache: some extents are left free for what is being read. */
  readonly extentBytes: number;
}

/** Calibrated: with none free the simulator's page cache thrashes, with two to four it does not. */
const IN_FLIGHT_EXTENTS = 4;

/**
 * What a device can do about its weights, the best of each residence. With S bytes of mapped weights, of which O are the
 * head's output layer, and A bytes of memory for them:
 * - S ≤ A: they stay, and nothing is read.
 * - k > 1, and a window with the output layer is within A: P bytes stay for good (largestPinnedBytes), the output layer
 *   among them; the rest of a window is given back after its turn, and that of the next is read. Reading begins when a
 *   turn has ended, and may last to the end of the next, but for what can only be computed after the last byte.
 * - In any case: P = A, and S − P bytes of page faults, each on the token's way (prima.cpp Eq. 15). Linux and Android
 *   read ahead, so that what has come is computed while the next bytes do.
 * @returns none if KV cache and buffers exceed the RAM
 */
export function turnChoices(costs: RingCosts, device: DeviceCosts, load: TurnLoad): Turns[] {
  const { rounds, layers, gpuLayers, output, extentBytes } = load;
  const layersInRam = rounds * (layers - gpuLayers + (device.unified ? gpuLayers : 0));
  const left = device.available - device.ramBuffers - layersInRam * costs.kvBytes;
  if (left < 0) return [];
  const windows = layersInRam * costs.layerBytes;
  const outputBytes = output === 'cpu' || (output === 'gpu' && device.unified) ? costs.outputBytes : 0;
  const lookup = output === undefined ? 0 : costs.embeddingRowBytes;
  const mapped = windows + outputBytes;
  const room = left - lookup - PAGE_TABLES * (mapped + lookup);
  const rate = device.reloadRate;

  const turn = turnSeconds(device, load);
  const outputTurn = output === undefined ? 0 : outputOn(device, output);
  const atEnd = outputTurn + lookup / rate;
  const common = { gpuLayers, seconds: rounds * turn + atEnd, outputSeconds: atEnd };
  if (mapped <= room) return [{ ...common, roundSeconds: 0, residence: 'resident', policy: NO_WEIGHTS_POLICY }];

  const usable = room - IN_FLIGHT_EXTENTS * extentBytes;
  const kept = largestPinnedBytes({ rounds: 1, mapped, room: usable });
  const missingOutput = Math.max(0, outputBytes - kept);
  const outputWait = faultSeconds(device, missingOutput, outputBytes, outputTurn);
  const windowWait = faultSeconds(device, mapped - kept - missingOutput, windows, rounds * ramSeconds(device, load));
  const choices: Turns[] = [
    {
      gpuLayers,
      residence: 'faulted',
      policy: kept > 0 ? { prefetch: 'none', release: 'pinned', pinned: kept } : NO_WEIGHTS_POLICY,
      seconds: common.seconds + windowWait + outputWait,
      outputSeconds: atEnd + outputWait,
      roundSeconds: 0,
    },
  ];
  if (rounds > 1 && windows > 0 && windows / rounds + outputBytes <= usable) {
    const pinned = largestPinnedBytes({ rounds, mapped, room: usable });
    choices.push({
      ...common,
      residence: 'prefetched',
      policy:
        pinned > 0 ? { prefetch: 'populate', release: 'pinned', pinned } : { prefetch: 'populate', release: 'drop' },
      roundSeconds: (mapped - pinned) / rounds / rate + secondsAfterLastByte(device, load),
    });
  }
  return choices;
}

/** How much longer a computation of so many seconds takes if `missing` of its `bytes` are page faults. */
function faultSeconds(device: DeviceCosts, missing: number, bytes: number, seconds: number): number {
  const reading = missing / device.reloadRate;
  const readsAhead = device.kind === 'linux' || device.kind === 'android';
  return readsAhead && missing > 0 ? Math.max(0, reading - (missing / bytes) * seconds) : reading;
}

/** Compute and memory of a turn's layers that lie in RAM. */
function ramSeconds(device: DeviceCosts, { layers, gpuLayers }: TurnLoad): number {
  const onGpu = device.unified && gpuLayers > 0 ? gpuLayers * device.gpuLayer : 0;
  return (layers - gpuLayers) * device.cpuLayer + onGpu;
}

/** Compute, memory and copies of one turn. */
function turnSeconds(device: DeviceCosts, { layers, gpuLayers }: TurnLoad): number {
  if (layers === 0) return 0;
  const onGpu = gpuLayers === 0 ? 0 : gpuLayers * device.gpuLayer;
  return (layers - gpuLayers) * device.cpuLayer + onGpu + device.windowCopy;
}

/** What is left of a turn when the last mapped layer has arrived: it, and on a GPU of its own the layers there. */
function secondsAfterLastByte(device: DeviceCosts, { gpuLayers }: TurnLoad): number {
  if (gpuLayers === 0) return device.cpuLayer + device.windowCopy;
  if (device.unified) return device.gpuLayer + device.windowCopy;
  return device.cpuLayer + gpuLayers * device.gpuLayer + device.windowCopy;
}

function outputOn(device: DeviceCosts, processor: ProcessorKind): number {
  return processor === 'cpu' ? device.outputOnCpuTotal : device.outputOnGpuTotal;
}
