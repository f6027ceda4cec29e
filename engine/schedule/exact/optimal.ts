import { createRingCosts, type DeviceCosts } from '../../cost/ring-costs.ts';
import { InputError } from '../../input/input-error.ts';
import { ringPlan } from '../../plan/ring-plan.ts';
import { divisors, noPlan, type Scheduled, type SchedulingProblem, worthwhilePrefetch } from '../scheduler.ts';
import { bestWindows } from './best-windows.ts';
import type { WindowSeconds } from './window-seconds.ts';
import { type WindowTableOptions, windowSeconds, windowSplit } from './window-table.ts';

/** The plans among which `optimal` looks for the fastest. */
export interface OptimalOptions {
  /** `any`: the output layer runs on the head's CPU or GPU; `cpu`: on its CPU (prima.cpp Eq. 12). */
  readonly output?: 'any' | 'cpu';
  /** `may`: the head can leave all layers to others and run only embedding and output; `must`: w ≥ 1 for it (Eq. 2). */
  readonly headLayers?: 'may' | 'must';
  /** Rounds of the plan; `best` unless given. */
  readonly rounds?: number | 'best';
}

/**
 * The exact optimum of the layer-to-device assignment (prima.cpp Eqs. 1–5 with Eqs. 11–19 as they stand, maxima
 * included): rounds, devices, windows and GPU layers that minimise the predicted TPOT.
 *
 * For given rounds the time is a sum of one function per device (windowSeconds), coupled by Σw = L/k and by the hops
 * between neighbours; bestWindows minimises it.
 *
 * `best` searches k = 1 only: a plan of k rounds with windows w and GPU layers n becomes a plan of one round with k·w
 * and k·n, which holds and reloads the same bytes, and takes each hop and copy once instead of k times.
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
  const choices = (index: number): WindowTableOptions => ({
    rounds,
    reclaim,
    outputs: index > 0 ? undefined : output === 'any' && costs.devices[0]?.gpu !== undefined ? ['cpu', 'gpu'] : ['cpu'],
  });
  const tables = costs.devices.map((device, index) => windowSeconds(costs, device, choices(index)));
  const [head] = tables as [WindowSeconds];
  if (headLayers === 'must')
    tables[0] = { ...head, seconds: [Number.POSITIVE_INFINITY, ...Array.from(head.seconds).slice(1)] };
  const best = bestWindows(costs, tables, rounds);
  if (best === undefined) {
    const message = `${model.name} fits in no combination of devices of ${belief.name}: KV cache and buffers exceed their memory; use a shorter context, or free memory`;
    return noPlan('fits-nowhere', message);
  }
  const { windows } = best;
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
