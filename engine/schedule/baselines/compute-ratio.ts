import { gpuLayerRoom } from '../../cost/memory.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../cost/ring-costs.ts';
import type { Device } from '../../hardware/device.ts';
import type { Scheduled, SchedulingProblem } from '../scheduler.ts';
import { proportionalShares, ratioPlan } from './proportional-shares.ts';

/**
 * Galaxy's rule with prima.cpp's fallback (PerfSched, A.10): layers in proportion to the compute rate of each device's
 * fastest processor. Layers that exceed its memory move to devices with room, the fastest first; layers that fit
 * nowhere go to the CPUs in proportion to their compute rates. One round.
 */
export function computeRatio({ belief, model, workload, runtime }: SchedulingProblem): Scheduled {
  const costs = createRingCosts(belief, model, workload, runtime);
  const rates = belief.devices.map((device) => computeRate(device));
  const rooms = costs.devices.map((device, index) => layerRoom(costs, device, index));
  const wanted = proportionalShares(model.layers, rates);
  const placed = wanted.map((layers, index) => Math.min(layers, rooms[index] as number));
  let left = model.layers - sum(placed);
  const fastestFirst = rates.map((_, index) => index).sort((a, b) => (rates[b] as number) - (rates[a] as number));
  for (const index of fastestFirst) {
    const moved = Math.min(left, (rooms[index] as number) - (placed[index] as number));
    placed[index] = (placed[index] as number) + moved;
    left -= moved;
  }
  const spilled = proportionalShares(
    left,
    belief.devices.map((device) => device.cpu.flops.Q4_K),
  );
  const windows = costs.devices.map((device, index) => {
    const onFastest = placed[index] as number;
    const layers = onFastest + (spilled[index] as number);
    return { device: device.name, layers, gpuLayers: device.gpu === undefined ? 0 : onFastest };
  });
  return ratioPlan('compute-ratio', costs, windows);
}

/** FLOP/s of the processor that runs a device's layers: its GPU, if it has one. */
function computeRate({ gpu, cpu }: Device): number {
  return (gpu ?? cpu).flops.Q4_K;
}

/** Layers that the memory of the device's fastest processor holds. */
function layerRoom(costs: RingCosts, device: DeviceCosts, index: number): number {
  if (device.gpu !== undefined) return gpuLayerRoom(costs, device, index === 0 ? 'cpu' : undefined);
  const head = index === 0 ? costs.embeddingRowBytes + costs.outputBytes : 0;
  const bytes = device.available - device.ramBuffers - head;
  return Math.max(0, Math.floor(bytes / (costs.layerBytes + costs.kvBytes)));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
