import { createRingCosts, type DeviceCosts, type RingCosts } from '../cost/ring-costs.ts';
import { InputError } from '../input/input-error.ts';
import { ringPlan } from '../plan/ring-plan.ts';
import { minPlus } from './min-plus.ts';
import { divisors, noPlan, type Scheduled, type SchedulingProblem, worthwhilePrefetch } from './scheduler.ts';
import { type WindowChoices, windowSplit, windowTable } from './window-table.ts';

export interface OptimalOptions {
  /** `any`: the output layer runs on the head's CPU or GPU; `cpu`: on its CPU (prima.cpp Eq. 12). */
  readonly output?: 'any' | 'cpu';
  /** `may`: the head can leave all layers to others and only embed and output; `must`: w ≥ 1 for it (Eq. 2). */
  readonly headLayers?: 'may' | 'must';
  /** Rounds to plan for; `best` unless given. */
  readonly rounds?: number | 'best';
}

/**
 * The exact optimum of the layer-to-device assignment (prima.cpp Eqs. 1–5 with Eqs. 11–19 as they stand, maxima
 * included): rounds, devices, windows and GPU layers that minimise the predicted TPOT.
 *
 * For given rounds the time is a sum of one function per device, coupled by Σw = L/k and by the hops between
 * neighbours: a dynamic program over the devices in ring order, whose state is the last device taken and the layers
 * so far. O(M L log L) with one link for all, O(M² L) where every pair has its own.
 *
 * Of all rounds only k = 1 has to be searched: a plan of k rounds with windows w and GPU layers n becomes a plan of one
 * round with k·w and k·n, which holds and reloads the same, and pays each hop and copy once instead of k times.
 * @throws InputError if `rounds` doesn't divide the layers
 */
export function optimal(problem: SchedulingProblem, options: OptimalOptions = {}): Scheduled {
  const { belief, model, workload, reclaim = 'overflow', runtime } = problem;
  const { output = 'any', headLayers = 'may' } = options;
  const rounds = options.rounds === undefined || options.rounds === 'best' ? 1 : options.rounds;
  if (!Number.isInteger(model.layers / rounds) || rounds < 1) {
    throw new InputError(
      'rounds',
      `${rounds} does not divide the ${model.layers} layers; allowed: ${divisors(model.layers).join(', ')}`,
    );
  }
  const costs = createRingCosts(belief, model, workload, runtime);
  const choices = (index: number): WindowChoices => ({
    rounds,
    reclaim,
    outputs: index > 0 ? undefined : output === 'any' && costs.devices[0]?.gpu !== undefined ? ['cpu', 'gpu'] : ['cpu'],
  });
  const tables = costs.devices.map((device, index) => windowTable(costs, device, choices(index)));
  if (headLayers === 'must') (tables[0] as Float64Array)[0] = Number.POSITIVE_INFINITY;
  const windows = bestWindows(costs, tables, rounds);
  if (windows === undefined) {
    const message = `${model.name} fits in no combination of devices of ${belief.name}: KV cache and buffers exceed their memory; use a shorter context, or free memory`;
    return noPlan('fits-nowhere', message);
  }
  const splits = windows.map(({ device, layers }) =>
    windowSplit(costs, costs.devices[device] as DeviceCosts, choices(device), layers),
  );
  const plan = ringPlan({
    scheduler: 'optimal',
    head: costs.devices[0]?.name ?? '',
    rounds,
    windows: windows.map(({ device, layers }, index) => ({
      device: costs.devices[device]?.name ?? '',
      layers,
      gpuLayers: splits[index]?.gpuLayers ?? 0,
    })),
    outputProcessor: splits[0]?.output ?? 'cpu',
    prefetch: worthwhilePrefetch(reclaim),
  });
  return { plan };
}

/** A device that is taken, with its window; the head comes first, even without layers. */
interface Taken {
  readonly device: number;
  readonly layers: number;
}

function bestWindows(costs: RingCosts, tables: readonly Float64Array[], rounds: number): Taken[] | undefined {
  const total = costs.layers / rounds;
  const width = total + 1;
  const count = tables.length;
  // running[l]: least seconds with l layers on the devices so far; the last of them is runningLast[l].
  const head = tables[0] as Float64Array;
  const running = Float64Array.from(head);
  const runningLast = new Int32Array(width);
  let best = head[total] as number;
  let last = 0;
  // For every device taken last, at l layers: its window, and the device before it.
  const window = new Int32Array(count * width);
  const previous = new Int32Array(count * width);
  const byLast = costs.uniformHop === undefined ? [running.slice()] : undefined;
  const least = new Float64Array(width);
  const argument = new Int32Array(width);
  for (let device = 1; device < count; device++) {
    const arrived = byLast === undefined ? undefined : arrivals(costs, byLast, device, rounds);
    const lastBefore = arrived?.last ?? runningLast;
    minPlus(arrived?.seconds ?? running, tables[device] as Float64Array, least, argument);
    const hop = rounds * (costs.uniformHop ?? 0);
    const offset = device * width;
    for (let layers = 1; layers < width; layers++) {
      least[layers] = (least[layers] as number) + hop;
      window[offset + layers] = argument[layers] as number;
      previous[offset + layers] = lastBefore[layers - (argument[layers] as number)] as number;
    }
    let closed = (least[total] as number) + rounds * costs.hop(device, 0);
    // A single device has no ring to go around: ringPlan makes its rounds one.
    const table = tables[device] as Float64Array;
    const alone = (head[0] as number) + (table[total] as number) + costs.hop(0, device) + costs.hop(device, 0);
    if (alone < closed) {
      closed = alone;
      window[offset + total] = total;
      previous[offset + total] = 0;
    }
    if (closed < best) {
      best = closed;
      last = device;
    }
    byLast?.push(least.slice());
    for (let layers = 1; layers < total; layers++) {
      if ((least[layers] as number) < (running[layers] as number)) {
        running[layers] = least[layers] as number;
        runningLast[layers] = device;
      }
    }
  }
  if (best === Number.POSITIVE_INFINITY) return undefined;
  const taken: Taken[] = [];
  let layers = total;
  for (let device = last; device > 0; ) {
    const at = device * width + layers;
    taken.unshift({ device, layers: window[at] as number });
    layers -= window[at] as number;
    device = previous[at] as number;
  }
  return [{ device: 0, layers }, ...taken];
}

/** Least seconds to hand over to `device` with l layers behind, and from which device, by the links there are. */
function arrivals(costs: RingCosts, byLast: readonly Float64Array[], device: number, rounds: number) {
  const width = byLast[0]?.length ?? 0;
  const seconds = new Float64Array(width).fill(Number.POSITIVE_INFINITY);
  const last = new Int32Array(width);
  byLast.forEach((reached, other) => {
    const hop = rounds * costs.hop(other, device);
    for (let layers = 0; layers < width - 1; layers++) {
      const arrived = (reached[layers] as number) + hop;
      if (arrived < (seconds[layers] as number)) {
        seconds[layers] = arrived;
        last[layers] = other;
      }
    }
  });
  return { seconds, last };
}
