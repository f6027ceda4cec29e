import { gpuLayerRoom } from '../../cost/memory.ts';
import { createRingCosts } from '../../cost/ring-costs.ts';
import { type Device, hasUnifiedGpu, isDiscrete } from '../../hardware/device.ts';
import type { Scheduled, SchedulingProblem } from '../scheduler.ts';
import { proportionalShares, ratioPlan } from './proportional-shares.ts';

export interface MemoryRatioOptions {
  /**
   * `available`: RAM and VRAM that are free, GPU layers up to what VRAM holds (prima.cpp "w/o halda", 4.2; MemSched,
   * A.10); `accelerator`: what is free of VRAM, or of RAM on a device without a GPU (the released prima.cpp, built
   * without its solver); `total`: exo's rule, the installed memory of the accelerator, or the RAM without one (4.1).
   */
  readonly memory?: 'available' | 'accelerator' | 'total';
}

/**
 * Layers in proportion to memory, one round. Boundaries are rounded cumulatively, so that 8, 8 and 11 GiB give 9, 10
 * and 13 of 32 layers (prima.cpp 4.1). Devices whose share rounds to nothing are omitted.
 */
export function memoryRatio(problem: SchedulingProblem, { memory = 'available' }: MemoryRatioOptions = {}): Scheduled {
  const { belief, model, workload, runtime } = problem;
  const costs = createRingCosts(belief, model, workload, runtime);
  const budgets = belief.devices.map(BUDGETS[memory]);
  const shares = proportionalShares(model.layers, budgets);
  const windows = costs.devices.map((device, index) => {
    const layers = shares[index] as number;
    const room = gpuLayerRoom(costs, device, index === 0 ? 'cpu' : undefined);
    return { device: device.name, layers, gpuLayers: Math.min(layers, room) };
  });
  return ratioPlan('memory-ratio', costs, windows);
}

/** Installed memory of a device's accelerator: VRAM, or the RAM that a unified GPU or the CPU works in. */
export function acceleratorMemory(device: Device): number {
  return isDiscrete(device.gpu) ? device.gpu.memory.total : device.memory.total;
}

function freeMemory(device: Device): number {
  if (hasUnifiedGpu(device)) return device.gpu.memory.available;
  return device.memory.available + (device.gpu?.memory.available ?? 0);
}

function freeAcceleratorMemory({ gpu, memory }: Device): number {
  return gpu?.memory.available ?? memory.available;
}

const BUDGETS = {
  available: freeMemory,
  accelerator: freeAcceleratorMemory,
  total: acceleratorMemory,
} as const satisfies Record<NonNullable<MemoryRatioOptions['memory']>, (device: Device) => number>;
