import type { RingCosts } from '../../cost/ring-costs.ts';
import { ringPlan, type WindowSize } from '../../plan/ring-plan.ts';
import { noPlan, type Scheduled } from '../scheduler.ts';

/** Whole shares of `total` in proportion to `weights`: differences of the rounded cumulative sums. */
export function proportionalShares(total: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((left, weight) => left + weight, 0);
  let before = 0;
  let reached = 0;
  return weights.map((weight) => {
    before += weight;
    const boundary = Math.round((total * before) / sum);
    const share = boundary - reached;
    reached = boundary;
    return share;
  });
}

/**
 * The plan of windows in proportion to memory or compute, one round; no plan if a device's RAM can't hold KV cache and
 * buffers, which can't be reclaimed.
 */
export function ratioPlan(scheduler: string, costs: RingCosts, windows: readonly WindowSize[]): Scheduled {
  const full = costs.devices.find((device, index) => {
    const { layers, gpuLayers } = windows[index] as WindowSize;
    const inRam = device.unified ? layers : layers - gpuLayers;
    return layers > 0 && inRam * costs.kvBytes + device.ramBuffers > device.available;
  });
  if (full !== undefined) {
    const message = `${full.name} can’t hold the KV cache and buffers of its share; use a shorter context or another scheduler`;
    return noPlan('fits-nowhere', message);
  }
  return { plan: ringPlan({ scheduler, head: costs.devices[0]?.name ?? '', rounds: 1, windows }) };
}
