import { type DeviceLoad, diskSeconds, fixedBytes, loadedBytes, mappedBytes, vramBytes } from './memory.ts';
import type { ReclaimPolicy } from './reclaim.ts';
import type { DeviceCosts, RingCosts } from './ring-costs.ts';

/**
 * Seconds of one device for one token without links (prima.cpp Eqs. 12–18) in `windows` windows; infinite if GPU layers
 * exceed the VRAM (Eqs. 34, 35), or KV cache, buffers and pinned weights exceed the RAM. It equals the sum that
 * `predict` breaks down. This is the planners' hot path.
 */
export function deviceSeconds(
  costs: RingCosts,
  device: DeviceCosts,
  load: DeviceLoad,
  windows: number,
  policy: ReclaimPolicy,
): number {
  if ((load.gpuLayers > 0 || load.output === 'gpu') && vramBytes(costs, device, load) > device.gpuRoom)
    return Number.POSITIVE_INFINITY;
  const fixed = fixedBytes(costs, device, load);
  const weights = mappedBytes(costs, device, load);
  if (fixed + Math.min(load.pinnedBytes ?? 0, weights) > device.available) return Number.POSITIVE_INFINITY;
  const reloaded = loadedBytes(costs, device, load, { weights, fixed }, policy);
  const layers = load.cpuLayers * device.cpuLayer + (load.gpuLayers === 0 ? 0 : load.gpuLayers * device.gpuLayer);
  const output =
    load.output === undefined ? 0 : load.output === 'cpu' ? device.outputOnCpuTotal : device.outputOnGpuTotal;
  return layers + output + windows * device.windowCopy + diskSeconds(costs, device, load, reloaded);
}
