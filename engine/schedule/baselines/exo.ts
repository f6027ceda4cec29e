import { memoryUse } from '../../cost/memory.ts';
import { createRingCosts, type DeviceCosts } from '../../cost/ring-costs.ts';
import type { Device, ProcessorKind } from '../../hardware/device.ts';
import type { Plan } from '../../plan/plan.ts';
import { ringPlan } from '../../plan/ring-plan.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { acceleratorMemory } from './memory-ratio.ts';
import { proportionalShares } from './proportional-shares.ts';

/**
 * exo: layers in proportion to the installed memory of each device's accelerator. All of a device's layers run on its
 * accelerator and none are mapped, so that a device runs out of memory where they don't fit. exo doesn't run on phones
 * (prima.cpp 4); the head is the first other device of the ring. The model keeps its format, while exo itself unpacks
 * weights to 16 and 32 bits on Linux (A.8).
 */
export function exo({ belief, model, workload, runtime }: SchedulingProblem): Scheduled {
  const members = belief.devices.filter(({ os }) => os !== 'android');
  const head = members[0];
  if (head === undefined) {
    return noPlan('fits-nowhere', `${belief.name} has phones only, which exo doesn’t run on; use another scheduler`);
  }
  const layers = proportionalShares(model.layers, members.map(acceleratorMemory));
  const windows = members.map((device, index) => {
    const window = { device: device.name, layers: layers[index] as number };
    return { ...window, gpuLayers: acceleratorOf(device) === 'gpu' ? window.layers : 0 };
  });
  const outputProcessor = acceleratorOf(head);
  const plan = ringPlan({ scheduler: 'exo', head: head.name, rounds: 1, windows, outputProcessor, prefetch: 'none' });
  const costs = createRingCosts(belief, model, workload, runtime);
  const mappedBytes = ({ name }: Device): number => {
    const { layers: all, gpuLayers } = windows.find(({ device }) => device === name) ?? { layers: 0, gpuLayers: 0 };
    const output = name === head.name ? outputProcessor : undefined;
    const load = { cpuLayers: all - gpuLayers, gpuLayers, output, prefetches: false, kvInRam: false };
    const device = costs.devices.find((candidate) => candidate.name === name) as DeviceCosts;
    const { ram, nonReclaimable } = memoryUse(costs, device, load, 'overflow');
    return ram - nonReclaimable;
  };
  const kept = members.map((device) => ({ device, pinned: mappedBytes(device) }));
  const weights: Plan['weights'] = Object.fromEntries(
    kept
      .filter(({ pinned }) => pinned > 0)
      .map(({ device, pinned }) => [device.name, { prefetch: 'none', release: 'pinned', pinned }]),
  );
  return { plan: { ...plan, weights } };
}

function acceleratorOf({ gpu }: Device): ProcessorKind {
  return gpu === undefined ? 'cpu' : 'gpu';
}
