import { deviceSeconds } from '../../cost/device-seconds.ts';
import { type DeviceLoad, gpuLayerRoom } from '../../cost/memory.ts';
import type { ReclaimPolicy } from '../../cost/reclaim.ts';
import type { DeviceCosts, RingCosts } from '../../cost/ring-costs.ts';
import type { ProcessorKind } from '../../hardware/device.ts';
import { everyEntry, ofEveryWindow, type WindowSeconds } from './window-seconds.ts';

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
 * Seconds per token of one device by window size, without its links, each at its best split between GPU and CPU;
 * infinite where memory is too small. An empty window costs the head its output layer, other devices nothing.
 */
export function windowSeconds(costs: RingCosts, device: DeviceCosts, choices: WindowTableOptions): WindowSeconds {
  const last = costs.layers / choices.rounds;
  const [first, ...others] = choices.outputs ?? NO_OUTPUT;
  const found = searched(createSearch(costs, device, choices, first), last);
  if (choices.outputs === undefined) found.seconds[0] = 0;
  if (others.length === 0) return found;
  // The lesser of two outputs' seconds bends elsewhere too.
  const least = everyEntry(found);
  for (const output of others) {
    const other = everyEntry(searched(createSearch(costs, device, choices, output), last));
    for (let window = 0; window <= last; window++)
      least[window] = Math.min(least[window] as number, other[window] as number);
  }
  return ofEveryWindow([least])[0] as WindowSeconds;
}

/** The entries of all windows (index w from 0). */
export function windowTable(costs: RingCosts, device: DeviceCosts, choices: WindowTableOptions): Float64Array {
  return everyEntry(windowSeconds(costs, device, choices));
}

/** How far a quotient of bytes may be off a whole number of layers and still mean it. */
const ROUNDING = 1e-6;

/**
 * The seconds of windows up to `last`. If the GPU takes as many layers as fit, they are linear between an empty window, a
 * full GPU, the bends of the RAM, and a device with all layers: those are the knots.
 */
function searched(search: Search, last: number): WindowSeconds & { readonly seconds: number[] } {
  const { device, gpuRoom, bends } = search;
  const knots: number[] = [];
  if (device.gpuLayer > device.cpuLayer && gpuRoom > 0) {
    for (let window = 0; window <= last; window++) knots.push(window);
  } else {
    addKnots(knots, 0, 1, last);
    addKnots(knots, gpuRoom, gpuRoom, last);
    addKnots(knots, last - 1, last, last);
    const onGpu = device.unified ? 0 : gpuRoom;
    for (const bend of bends)
      addKnots(knots, Math.floor(onGpu + bend - ROUNDING), Math.ceil(onGpu + bend + ROUNDING), last);
  }
  const seconds: number[] = [];
  for (const window of knots) seconds.push(bestGpuLayers(search, window));
  return { last, knots, seconds };
}

/** Adds the windows `from` to `to`, as far as there are such windows, in their order. */
function addKnots(knots: number[], from: number, to: number, last: number): void {
  const end = Math.min(to, last);
  for (let window = Math.max(0, from); window <= end; window++) {
    let place = knots.length;
    while (place > 0 && (knots[place - 1] as number) > window) place--;
    if (place > 0 && knots[place - 1] === window) continue;
    for (let moved = knots.length; moved > place; moved--) knots[moved] = knots[moved - 1] as number;
    knots[place] = window;
  }
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

/** State of the search for one device's best split; reused from window to window. */
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
  /** The best split so far of the window that is searched. */
  bestGpuLayers: number;
  least: number;
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
  const exceedsLookup = forLayers - (output === 'cpu' || (output === 'gpu' && device.unified) ? costs.outputBytes : 0);
  const overflows = exceedsLookup - lookup;
  const kvBytes = costs.kvBytes * rounds;
  const bends = [overflows / perLayer];
  if (lookup > 0) bends.push(exceedsLookup / perLayer);
  if (kvBytes > 0) bends.push(forLayers / kvBytes);
  return {
    costs,
    device,
    rounds,
    reclaim,
    gpuRoom: gpuLayerRoom(costs, device, output, rounds),
    bends,
    load: { cpuLayers: 0, gpuLayers: 0, output, prefetches: false, kvInRam: false },
    bestGpuLayers: 0,
    least: Number.POSITIVE_INFINITY,
  };
}

/**
 * The best number of GPU layers of a window, in closed form: the time is piecewise linear in it, so the best lies at an
 * end, or next to a bend. Where the GPU is the faster processor, it is as many as fit.
 * @returns the seconds; the number is left in `search.bestGpuLayers`
 */
function bestGpuLayers(search: Search, window: number): number {
  const { device, gpuRoom } = search;
  const most = Math.min(window, gpuRoom);
  search.bestGpuLayers = most;
  search.least = splitSeconds(search, window, most);
  if (device.gpuLayer <= device.cpuLayer || most === 0) return search.least;
  consider(search, window, 0);
  for (const bend of search.bends) {
    const edge = Math.ceil(window - bend);
    const end = Math.min(most, edge + 1);
    for (let gpuLayers = Math.max(0, edge - 1); gpuLayers <= end; gpuLayers++) consider(search, window, gpuLayers);
  }
  return search.least;
}

function consider(search: Search, window: number, gpuLayers: number): void {
  const seconds = splitSeconds(search, window, gpuLayers);
  if (seconds >= search.least) return;
  search.least = seconds;
  search.bestGpuLayers = gpuLayers;
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
