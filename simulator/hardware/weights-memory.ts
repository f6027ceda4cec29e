import { reservedKvBytes } from '../../engine/cost/layer-seconds.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { type Device, deviceKind, hasUnifiedGpu } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import type { PagePolicy } from '../page-cache/policies.ts';

/** What a device has for mapped weights, and how its OS takes it back. */
export interface WeightsMemory {
  readonly policy: PagePolicy;
  /** Bytes for the model, weights and all, before other apps take some of them. */
  readonly available: number;
  /** KV cache of so many tokens, buffers, and weights that are streamed: what the OS can't reclaim. */
  fixedBytes(context: number): number;
}

export interface WeightsMemoryParts {
  readonly device: Device;
  readonly model: Model;
  /** The device's. */
  readonly stages: readonly Stage[];
  readonly kvCache: Plan['kvCache'];
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly reclaim: 'os' | 'overflow' | PagePolicy;
  /** Bytes of evicted pages for a context of so many tokens; undefined where the GPU's KV cache isn't paged. */
  readonly evictedKvBytes: ((context: number) => number) | undefined;
  /** KV cache, buffers and pinned weights at the end. */
  readonly mostFixedBytes: number;
}

/** Available memory less KV cache and buffers; on Android what can be swapped out comes on top (prima.cpp Eq. 17). */
export function weightsMemory(parts: WeightsMemoryParts): WeightsMemory {
  const { device, model, stages, kvCache, workload, runtime, reclaim, evictedKvBytes, mostFixedBytes } = parts;
  const unified = hasUnifiedGpu(device);
  const layersOf = (wanted: (stage: Stage) => boolean): number =>
    stages.filter(wanted).reduce((sum, { from, to }) => sum + to - from, 0);
  const allInRam = kvCache === 'host' && evictedKvBytes === undefined;
  const layers = layersOf(({ processor }) => processor === 'cpu' || unified || allInRam);
  const streamedBytes = layersOf(({ streamed }) => streamed !== undefined) * model.layer.bytes;
  const buffers = runtime.cpuBufferBytes + (unified ? runtime.gpuBufferBytes : 0);
  const kind = deviceKind(device);
  const available = kind === 'macos-metal' && device.gpu ? device.gpu.memory.available : device.memory.available;
  const fixedBytes = (context: number): number =>
    buffers +
    streamedBytes +
    layers * reservedKvBytes(model, { ...workload, context }) +
    (evictedKvBytes?.(context) ?? 0);
  const { swappable, swapFree } = device.memory;
  if (kind !== 'android') {
    const policy = kind === 'macos-metal' ? ({ name: 'metal' } as const) : ordinaryPolicy(reclaim, device);
    return { policy: typeof reclaim === 'object' ? reclaim : policy, available, fixedBytes };
  }
  // What can't be reclaimed and needs swapped-out memory has it from the start; else it goes as weights ask for it.
  const needed = Math.max(0, mostFixedBytes - available);
  const policy: PagePolicy = {
    name: 'android',
    beyondSwap: reclaim === 'overflow' ? 'overflow' : 'linux',
    swappable: Math.min(swappable, swapFree) - needed,
    swapFree,
  };
  return { policy: typeof reclaim === 'object' ? reclaim : policy, available: available + needed, fixedBytes };
}

/** macOS faults page by page (prima.cpp A.3, after Eq. 16). */
function ordinaryPolicy(reclaim: WeightsMemoryParts['reclaim'], { os }: Device): PagePolicy {
  if (reclaim === 'overflow') return { name: 'overflow' };
  return os === 'macos' ? { name: 'linux', readAhead: 0 } : { name: 'linux' };
}
