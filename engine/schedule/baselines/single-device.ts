import { deviceSeconds } from '../../cost/device-seconds.ts';
import { gpuLayerRoom } from '../../cost/memory.ts';
import { createRingCosts, type DeviceCosts } from '../../cost/ring-costs.ts';
import { deviceIndex } from '../../hardware/cluster.ts';
import type { Plan } from '../../plan/plan.ts';
import { ringPlan } from '../../plan/ring-plan.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';

/** The device that runs the model, and where its output layer may be. */
export interface SingleDeviceOptions {
  /** The device to run on, which becomes the head; the cluster's head unless named. */
  readonly device?: string;
  /** `any`: the output layer joins the GPU when all layers and it fit there (llama.cpp); `cpu`: it never does. */
  readonly output?: 'any' | 'cpu';
}

/** llama.cpp: one device, with as many layers on its GPU as fit, the others mapped and run by the CPU, no prefetch. */
export function singleDevice(
  problem: SchedulingProblem,
  { device, output = 'any' }: SingleDeviceOptions = {},
): Scheduled {
  const { belief, model, workload, runtime } = problem;
  const costs = createRingCosts(belief, model, workload, runtime);
  const index = device === undefined ? 0 : deviceIndex(belief, device);
  const chosen = costs.devices[index] as DeviceCosts;
  const processor = output === 'any' && gpuLayerRoom(costs, chosen, 'gpu') >= model.layers ? 'gpu' : 'cpu';
  const gpuLayers = Math.min(model.layers, gpuLayerRoom(costs, chosen, processor));
  const load = {
    cpuLayers: model.layers - gpuLayers,
    gpuLayers,
    output: processor,
    prefetches: false,
    kvInRam: false,
  } as const;
  if (!Number.isFinite(deviceSeconds(costs, chosen, load, 1, 'overflow'))) {
    const message = `${chosen.name} can’t hold the KV cache and buffers of ${model.name}; use a shorter context or more devices`;
    return noPlan('fits-nowhere', message);
  }
  const plan: Plan = ringPlan({
    scheduler: 'single-device',
    head: chosen.name,
    rounds: 1,
    windows: [{ device: chosen.name, layers: model.layers, gpuLayers }],
    outputProcessor: processor,
    prefetch: 'none',
  });
  return { plan };
}
