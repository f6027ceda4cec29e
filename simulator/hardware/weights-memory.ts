import { kvCacheBytes } from '../../engine/cost/layer-seconds.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { type Device, deviceKind, hasUnifiedGpu } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { PagePolicy } from './page-cache-policy.ts';

/** What a device has for mapped weights, and how its OS takes it back. */
export interface WeightsMemory {
  readonly policy: PagePolicy;
  /** Bytes beside the KV cache of so many tokens. */
  limit(context: number): number;
}

export interface WeightsMemoryParts {
  readonly device: Device;
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly reclaim: 'os' | 'overflow' | PagePolicy;
  /** Tokens in the KV cache at the end. */
  readonly longest: number;
}

/** Available memory less KV cache and buffers; on Android what can be swapped out comes on top (prima.cpp Eq. 17). */
export function weightsMemory(parts: WeightsMemoryParts): WeightsMemory {
  const { device, model, plan, workload, runtime, reclaim, longest } = parts;
  const unified = hasUnifiedGpu(device);
  const layers = plan.stages
    .filter((stage) => stage.device === device.name)
    .filter((stage) => stage.processor === 'cpu' || unified || plan.kvCache === 'host')
    .reduce((sum, stage) => sum + stage.to - stage.from, 0);
  const buffers = runtime.cpuBufferBytes + (unified ? runtime.gpuBufferBytes : 0);
  const kind = deviceKind(device);
  const available = kind === 'macos-metal' && device.gpu ? device.gpu.memory.available : device.memory.available;
  const left = (context: number): number =>
    available - buffers - layers * kvCacheBytes(model, { ...workload, context });
  const { swappable, swapFree } = device.memory;
  if (kind !== 'android') {
    const policy = kind === 'macos-metal' ? ({ name: 'metal' } as const) : ordinaryPolicy(reclaim);
    return { policy: typeof reclaim === 'object' ? reclaim : policy, limit: left };
  }
  // KV cache and buffers that need swapped-out memory have it from the start; else it goes as weights ask for it.
  const needed = Math.max(0, -left(longest));
  const policy: PagePolicy = {
    name: 'android',
    beyondSwap: reclaim === 'overflow' ? 'overflow' : 'linux',
    swappable: Math.min(swappable, swapFree) - needed,
    swapFree,
  };
  return { policy: typeof reclaim === 'object' ? reclaim : policy, limit: (context) => left(context) + needed };
}

function ordinaryPolicy(reclaim: WeightsMemoryParts['reclaim']): PagePolicy {
  return reclaim === 'overflow' ? { name: 'overflow' } : { name: 'linux' };
}
