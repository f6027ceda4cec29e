import { createRingCosts, type RingCosts } from '../cost/ring-costs.ts';
import { ringPlan } from '../plan/ring-plan.ts';
import { minPlus } from './min-plus.ts';
import { divisors, noPlan, type Scheduled, type SchedulingProblem } from './scheduler.ts';
import { type WindowTable, windowTable } from './window-table.ts';

export interface OptimalOptions {
  /** `any`: the output layer runs on the head's CPU or GPU; `cpu`: on its CPU (prima.cpp Eq. 12). */
  readonly output?: 'any' | 'cpu';
  /** `may`: the head can leave all layers to others and only embed and output; `must`: w ≥ 1 for it (Eq. 2). */
  readonly headLayers?: 'may' | 'must';
}

/** The best windows found, with their time by the objective. */
interface Solution {
  readonly seconds: number;
  readonly rounds: number;
  readonly windows: readonly { readonly device: number; readonly layers: number }[];
  readonly tables: readonly WindowTable[];
}

/**
 * The exact optimum of the layer-to-device assignment (prima.cpp Eqs. 1–5 with Eqs. 11–19 as they stand, maxima
 * included): rounds, devices, windows and GPU layers that minimise the predicted TPOT.
 *
 * For given rounds the time is a sum of one function per device, coupled by Σw = L/k and by the hops between
 * neighbours: a dynamic program over the devices in ring order, whose state is the last device taken and the layers
 * so far. O(M L log L) with one link for all, O(M² L) where every pair has its own.
 */
export function optimal(
  problem: SchedulingProblem,
  { output = 'any', headLayers = 'may' }: OptimalOptions = {},
): Scheduled {
  const { belief, model, workload, reclaim = 'overflow', runtime } = problem;
  const costs = createRingCosts(belief, model, workload, runtime);
  let best: Solution | undefined;
  for (const rounds of divisors(model.layers)) {
    const tables = costs.devices.map((device, index) =>
      windowTable(costs, device, rounds, {
        reclaim,
        outputs: index > 0 ? undefined : output === 'any' ? ['cpu', 'gpu'] : ['cpu'],
        mayBeEmpty: index === 0 && headLayers === 'may',
      }),
    );
    const found = bestWindows(costs, tables, rounds);
    if (found !== undefined && (best === undefined || found.seconds < best.seconds)) best = found;
  }
  if (best === undefined) {
    const message = `${model.name} fits in no combination of the ${belief.devices.length} devices: their KV cache and buffers exceed what is available; use a shorter context or free memory`;
    return noPlan('fits-nowhere', message);
  }
  const { rounds, windows, tables } = best;
  const headWindow = windows.find((window) => window.device === 0)?.layers ?? 0;
  const plan = ringPlan({
    scheduler: 'optimal',
    head: costs.devices[0]?.name ?? '',
    rounds,
    windows: windows.map(({ device, layers }) => ({
      device: costs.devices[device]?.name ?? '',
      layers,
      gpuLayers: tables[device]?.gpuLayers[layers] ?? 0,
    })),
    outputProcessor: tables[0]?.outputOnGpu[headWindow] === 1 ? 'gpu' : 'cpu',
  });
  return { plan };
}

function bestWindows(costs: RingCosts, tables: readonly WindowTable[], rounds: number): Solution | undefined {
  const total = costs.layers / rounds;
  const head = (tables[0] as WindowTable).seconds;
  const devices = tables.length;
  const keepsAll = costs.uniformHop === undefined;
  // States before a device is added: least seconds by layers so far, and the last device taken there.
  const running = head.slice();
  running[total] = Number.POSITIVE_INFINITY; // the head alone needs no hop: compared below
  const runningLast = new Int32Array(total + 1);
  const byLast: Float64Array[] = [running.slice()];
  const windows: Int32Array[] = [new Int32Array(total + 1)];
  const previous: Int32Array[] = [new Int32Array(total + 1)];
  let best = head[total] as number;
  let last = 0;
  for (let device = 1; device < devices; device++) {
    const { before, from } = keepsAll
      ? arrivals(costs, byLast, device, rounds, total)
      : { before: running, from: runningLast };
    const hop = rounds * (costs.uniformHop ?? 0);
    const { least, argument } = minPlus(before, (tables[device] as WindowTable).seconds);
    const origin = new Int32Array(total + 1);
    for (let layers = 1; layers <= total; layers++) {
      least[layers] = (least[layers] as number) + hop;
      origin[layers] = from[layers - (argument[layers] as number)] as number;
    }
    windows.push(argument);
    previous.push(origin);
    const closed = (least[total] as number) + rounds * costs.hop(device, 0);
    if (closed < best) {
      best = closed;
      last = device;
    }
    if (keepsAll) byLast.push(least);
    for (let layers = 0; layers < total; layers++) {
      if ((least[layers] as number) < (running[layers] as number)) {
        running[layers] = least[layers] as number;
        runningLast[layers] = device;
      }
    }
  }
  if (best === Number.POSITIVE_INFINITY) return undefined;
  return { seconds: best, rounds, windows: walkBack(last, total, windows, previous), tables };
}

/** Least seconds to arrive at `device` with so many layers behind, over all devices before it and their links to it. */
function arrivals(costs: RingCosts, byLast: readonly Float64Array[], device: number, rounds: number, total: number) {
  const before = new Float64Array(total + 1).fill(Number.POSITIVE_INFINITY);
  const from = new Int32Array(total + 1);
  byLast.forEach((seconds, other) => {
    const hop = rounds * costs.hop(other, device);
    for (let layers = 0; layers < total; layers++) {
      const arrived = (seconds[layers] as number) + hop;
      if (arrived < (before[layers] as number)) {
        before[layers] = arrived;
        from[layers] = other;
      }
    }
  });
  return { before, from };
}

function walkBack(last: number, total: number, windows: readonly Int32Array[], previous: readonly Int32Array[]) {
  const taken: { device: number; layers: number }[] = [];
  let layers = total;
  let device = last;
  while (device > 0) {
    const window = windows[device]?.[layers] as number;
    taken.unshift({ device, layers: window });
    const before = previous[device]?.[layers] as number;
    layers -= window;
    device = before;
  }
  if (layers > 0) taken.unshift({ device: 0, layers });
  return taken;
}
