import { reservedKvBytes } from '../../engine/cost/layer-seconds.ts';
import { fixedBytes, loadOfStages } from '../../engine/cost/memory.ts';
import type { DeviceCosts, RingCosts } from '../../engine/cost/ring-costs.ts';
import { type Device, type DeviceKind, readsAhead } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import type { PagePolicy } from '../page-cache/policies.ts';
import type { GpuKvPages } from './paged-kv.ts';

/** A device's memory for mapped weights, and how its operating system reclaims it. */
export interface WeightsMemory {
  readonly policy: PagePolicy;
  /** Bytes for the model, weights and all, before other apps take some of them. */
  readonly available: number;
  /** Bytes of KV cache for this many tokens, buffers, and weights that are streamed: what can't be reclaimed. */
  fixedBytes(context: number): number;
}

export interface WeightsMemoryParts {
  readonly device: Device;
  readonly costs: RingCosts;
  readonly deviceCosts: DeviceCosts;
  readonly model: Model;
  readonly plan: Pick<Plan, 'kvCache' | 'output'>;
  /** The device's stages. */
  readonly stages: readonly Stage[];
  readonly workload: Workload;
  readonly reclaim: 'os' | 'overflow' | PagePolicy;
  /** The GPU's paged KV cache; `undefined` if it is not paged. */
  readonly paged: GpuKvPages | undefined;
  /** KV cache, buffers and pinned weights at the end, bytes. */
  readonly nonReclaimableBytes: number;
}

/** The memory of a device under a plan; on Android, what can be swapped out comes on top (prima.cpp Eq. 17). */
export function weightsMemory(parts: WeightsMemoryParts): WeightsMemory {
  const { device, costs, deviceCosts, model, plan, stages, workload, reclaim, paged, nonReclaimableBytes } = parts;
  const { layerBytes, outputBytes } = costs;
  const load = loadOfStages(plan, stages, undefined);
  const fixed = (context: number): number => {
    const kvBytes = reservedKvBytes(model, { ...workload, context });
    return fixedBytes(
      { layerBytes, kvBytes, outputBytes },
      deviceCosts,
      paged ? { ...load, kvPages: paged.pages(context) } : load,
    );
  };
  if (deviceCosts.kind !== 'android') {
    const metal = deviceCosts.kind === 'macos-metal';
    const policy = metal ? ({ name: 'metal' } as const) : ordinaryPolicy(reclaim, device, deviceCosts.kind);
    return {
      policy: typeof reclaim === 'object' ? reclaim : policy,
      available: deviceCosts.available,
      fixedBytes: fixed,
    };
  }
  // Memory that can't be reclaimed takes what it needs of swap from the start; the rest is swapped out as weights need
  // it.
  const { available, swappable, swapFree } = device.memory;
  const needed = Math.max(0, nonReclaimableBytes - available);
  const swap = { name: 'android', swappable: Math.min(swappable, swapFree) - needed, swapFree } as const;
  const policy: PagePolicy =
    reclaim === 'overflow' ? { ...swap, beyondSwap: 'overflow' } : { ...swap, ...beyondSwap(device) };
  return {
    policy: typeof reclaim === 'object' ? reclaim : policy,
    available: available + needed,
    fixedBytes: fixed,
  };
}

function ordinaryPolicy(reclaim: WeightsMemoryParts['reclaim'], device: Device, kind: DeviceKind): PagePolicy {
  if (reclaim === 'overflow') return { name: 'overflow' };
  if (!readsAhead(kind)) return { name: 'linux', readAhead: 0 };
  const { beyondSwap: name, ...mapping } = beyondSwap(device);
  return { name, ...mapping };
}

/**
 * Treatment of mapped weights by a Linux kernel. Strict LRU stands for the two lists, since it describes them within
 * 0.02 of the file for how weights are mapped (PagePolicy).
 */
function beyondSwap({ reclaim, disk: { readAhead } }: Device) {
  const mapping = readAhead === undefined ? {} : { readAhead };
  if (reclaim === undefined || reclaim === 'two-lists') return { beyondSwap: 'linux' as const, ...mapping };
  return { beyondSwap: 'mglru' as const, ...mapping, walksTables: reclaim === 'mglru' };
}
