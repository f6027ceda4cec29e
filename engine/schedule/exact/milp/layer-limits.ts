import { type DeviceMemoryUse, memoryUse } from '../../../cost/memory.ts';
import type { DeviceCosts, RingCosts } from '../../../cost/ring-costs.ts';
import type { ProcessorKind } from '../../../hardware/device.ts';

/** Number of layers that a device's memories hold, over all rounds; −1 where they can't hold the buffers alone. */
export interface LayerLimits {
  /** On the GPU (prima.cpp Eqs. 34, 35). */
  readonly gpu: number;
  /** In RAM, with KV cache and buffers, which must stay there. */
  readonly pinned: number;
  /** In RAM without reloads (Eqs. 30–32). */
  readonly resident: number;
}

/**
 * The memory limits of a device in whole layers, so that no rounding of bytes decides whether a plan is feasible.
 * @param output the processor that runs the output layer here, or undefined on devices other than the head
 */
export function layerLimits(costs: RingCosts, device: DeviceCosts, output: ProcessorKind | undefined): LayerLimits {
  const use = (cpuLayers: number, gpuLayers: number): DeviceMemoryUse => {
    const load = { cpuLayers, gpuLayers, output, prefetches: false, kvInRam: false };
    return memoryUse(costs, device, load, 'overflow');
  };
  return {
    gpu: device.gpu === undefined ? -1 : mostLayers(costs.layers, (layers) => use(0, layers).vram <= device.gpuRoom),
    pinned: mostLayers(costs.layers, (layers) => use(layers, 0).nonReclaimable <= device.available),
    resident: mostLayers(costs.layers, (layers) => use(layers, 0).ram <= device.available),
  };
}

function mostLayers(limit: number, hold: (layers: number) => boolean): number {
  let most = -1;
  while (most < limit && hold(most + 1)) most += 1;
  return most;
}
