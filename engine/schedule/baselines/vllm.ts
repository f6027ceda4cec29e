import { reservedKvBytes } from '../../cost/layer-seconds.ts';
import { gpuWeightBytes } from '../../cost/memory.ts';
import { DEFAULT_RUNTIME } from '../../cost/runtime.ts';
import { deviceIndex } from '../../hardware/cluster.ts';
import type { Device } from '../../hardware/device.ts';
import { createPlan } from '../../plan/create-plan.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';

export interface VllmOptions {
  /** The device to run on; the head unless named. */
  readonly device?: string;
  /** Share of the GPU's memory that weights, KV cache and buffers may take. Published: HELM 5.3, vLLM's default. */
  readonly memoryShare?: number;
}

/** vLLM with its defaults: weights, embedding and KV cache in the memory of one GPU; no plan where they don't fit. */
export function vllm(problem: SchedulingProblem, { device: name, memoryShare = 0.9 }: VllmOptions = {}): Scheduled {
  const { belief, model, workload, runtime = DEFAULT_RUNTIME } = problem;
  const device = belief.devices[name === undefined ? 0 : deviceIndex(belief, name)] as Device;
  const { gpu } = device;
  if (gpu?.api !== 'cuda') {
    const message = `${device.name} has no GPU with memory of its own to hold ${model.name}; use another device or scheduler`;
    return noPlan('needs-gpu', message);
  }
  const place = { device: device.name, processor: 'gpu' } as const;
  const plan = createPlan({
    scheduler: 'vllm',
    rounds: 1,
    stages: [{ ...place, from: 0, to: model.layers }],
    embedding: place,
    output: place,
    weights: {},
    kvCache: 'with-layers',
  });
  const room = Math.min(gpu.memory.available, memoryShare * gpu.memory.total) - runtime.gpuBufferBytes;
  const needed = gpuWeightBytes(plan, model, device.name) + model.layers * reservedKvBytes(model, workload);
  if (needed <= room) return { plan };
  const sizes = `${(needed / 1e9).toFixed(1)} GB of weights and KV cache, where ${(room / 1e9).toFixed(1)} GB fit`;
  const message = `out of memory: ${sizes} on ${device.name}’s GPU; use a shorter context or a scheduler that offloads`;
  return noPlan('fits-nowhere', message);
}
