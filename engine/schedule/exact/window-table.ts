import { deviceSeconds } from '../../cost/device-seconds.ts';
import { type DeviceLoad, gpuLayerRoom } from '../../cost/memory.ts';
import type { ReclaimPolicy } from '../../cost/reclaim.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import type { ProcessorKind } from '../../hardware/device.ts';

/** A device's part in every round: its window, split between GPU and CPU, and the head's output layer. */
export interface WindowSplit {
  readonly seconds: number;
  /** n */
  readonly gpuLayers: number;
  readonly output: ProcessorKind | undefined;
}

export interface WindowTableOptions {
  readonly rounds: number;
  readonly reclaim: ReclaimPolicy;
  /** Processors that the head's output layer may run on; undefined for other devices. */
  readonly outputs: readonly ProcessorKind[] | undefined;
}

/**
 * Seconds per token of one device by window size (index w from 0), without its links, each at its best split between
 * GPU and CPU; infinite where memory is too small. An empty window costs the head its output layer, other devices
 * nothing.
 */
export function windowTable(costs: RingCosts, device: DeviceCosts, choices: WindowTableOptions): Float64Array {
  const seconds = new Float64Array(costs.layers / choices.rounds + 1).fill(Number.POSITIVE_INFINITY);
  for (const output of choices.outputs ?? NO_OUTPUT) {
    const search = createSearch(costs, device, choices, output);
    for (let window = 0; window < seconds.length; window++) {
      const found = bestGpuLayers(search, window);
      if (found < (seconds[window] as number)) seconds[window] = found;
    }
  }
  if (choices.outputs === undefined) seconds[0] = 0;
  return seconds;
}

/** The split that gives one entry of the table. */
export function windowSplit(
  costs: RingCosts,
  device: DeviceCosts,
  choices: WindowTableOptions,
  window: number,
): WindowSplit {
  let best: WindowSplit = { seconds: Number.POSITIVE_INFINITY, gpuLayers: 0, output: undefined };
  for (const output of choices.outputs ?? NO_OUTPUT) {
    const search = createSearch(costs, device, choices, output);
    const seconds = bestGpuLayers(search, window);
    if (seconds < best.seconds) best = { seconds, gpuLayers: search.bestGpuLayers, output };
  }
  return best;
}

const NO_OUTPUT: readonly [undefined] = [undefined];

/** What the search for the best split needs of one device; reused from window to window. */
interface Search {
  readonly costs: RingCosts;
  readonly device: DeviceCosts;
  readonly rounds: number;
  readonly reclaim: ReclaimPolicy;
  /** GPU layers per window that the VRAM holds. */
  readonly gpuRoom: number;
  /**
   * Layers per window in RAM at which the time bends: where reloads begin, where they exceed the head's lookup (which
   * is read in any case), and where the KV cache fills the RAM.
   */
  readonly bends: readonly number[];
  readonly load: { -readonly [key in keyof DeviceLoad]: DeviceLoad[key] };
  bestGpuLayers: number;
}

function createSearch(
  costs: RingCosts,
  device: DeviceCosts,
  { rounds, reclaim }: WindowTableOptions,
  output: ProcessorKind | undefined,
): Search {
  const perLayer = (costs.layerBytes + costs.kvBytes) * rounds;
  const lookup = output === undefined ? 0 : costs.embeddingRowBytes;
  const forLayers = device.available - device.ramBuffers;
  const exceedsLookup = forLayers - (output === 'cpu' ? costs.outputBytes : 0);
  const overflows = exceedsLookup - lookup;
  const kvBytes = costs.kvBytes * rounds;
  return {
    costs,
    device,
    rounds,
    reclaim,
    gpuRoom: gpuLayerRoom(costs, device, output, rounds),
    bends: [overflows / perLayer, exceedsLookup / perLayer, ...(kvBytes === 0 ? [] : [forLayers / kvBytes])],
    load: { cpuLayers: 0, gpuLayers: 0, output, prefetches: false, kvInRam: false },
    bestGpuLayers: 0,
  };
}

/**
 * The best number of GPU layers of a window, in closed form: the time is piecewise linear in it, so the best lies at an
 * end, or beside a bend. Where the GPU is the faster processor, it is as many as fit.
 * @returns the seconds; the number is left in `search.bestGpuLayers`
 */
function bestGpuLayers(search: Search, window: number): number {
  const { device, gpuRoom } = search;
  const most = Math.min(window, gpuRoom);
  let best = splitSeconds(search, window, most);
  search.bestGpuLayers = most;
  if (device.gpuLayer <= device.cpuLayer || most === 0) return best;
  const consider = (gpuLayers: number): void => {
    const seconds = splitSeconds(search, window, gpuLayers);
    if (seconds >= best) return;
    best = seconds;
    search.bestGpuLayers = gpuLayers;
  };
  consider(0);
  for (const bend of search.bends) {
    const edge = Math.ceil(window - bend);
    for (let gpuLayers = Math.max(0, edge - 1); gpuLayers <= Math.min(most, edge + 1); gpuLayers++) consider(gpuLayers);
  }
  return best;
}

function splitSeconds({ costs, device, rounds, reclaim, load }: Search, window: number, gpuLayers: number): number {
  load.gpuLayers = gpuLayers * rounds;
  load.cpuLayers = (window - gpuLayers) * rounds;
  return deviceSeconds(costs, device, load, windowsOf(costs, rounds, window), reclaim);
}

/**
 * How often a token runs the window: once per round, but once in all on a device that holds all layers (see ringPlan).
 */
function windowsOf({ layers }: RingCosts, rounds: number, window: number): number {
  if (window === 0) return 0;
  return window * rounds === layers ? 1 : rounds;
}
