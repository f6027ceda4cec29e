import type { Infeasibility } from '../engine/cost/breakdown.ts';
import { createRingPredictor } from '../engine/cost/predict-ring.ts';
import { createRingCosts } from '../engine/cost/ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../engine/cost/runtime.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Device } from '../engine/hardware/device.ts';
import type { Model } from '../engine/model/model.ts';
import type { Workload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { validatePlan } from '../engine/plan/validate-plan.ts';
import type { Trace } from '../engine/trace/trace.ts';
import { DEFAULT_EXTENT_BYTES, type PageCacheUsage } from './hardware/page-cache.ts';
import type { PagePolicy } from './hardware/page-cache-policy.ts';
import type { PageCacheCounters } from './hardware/page-cache-state.ts';
import { type WeightsMemory, weightsMemory } from './hardware/weights-memory.ts';
import type { ReadingTotals } from './hardware/weights-reader.ts';
import { createSimulation } from './kernel/simulation.ts';
import { createRecorder } from './recorder.ts';
import { ring } from './systems/ring.ts';
import { createRingDevice, prefetchWindows, type RingDevice } from './systems/ring-device.ts';

export interface SimulationOptions {
  /**
   * How operating systems reclaim: `os`, each as it does (Linux and macOS strict LRU, macOS with Metal all or nothing,
   * Android after swapping others out); `overflow`, as prima.cpp's Eqs. 15–17 have it; or one policy for all devices.
   */
  readonly reclaim?: 'os' | 'overflow' | PagePolicy;
  /** `growing`: from the prompt's length on, as in a real run; `fixed`: `workload.context` at every token. */
  readonly context?: 'growing' | 'fixed';
  readonly runtime?: Runtime;
  /** Granularity of the page cache, bytes. */
  readonly extentBytes?: number;
  /** Largest read of a prefetching thread at once, bytes. */
  readonly chunkBytes?: number;
  /** `tokens`: the trace has no spans; sweeps are faster without. */
  readonly record?: 'spans' | 'tokens';
}

export interface SimulatedDevice extends ReadingTotals {
  readonly device: string;
  readonly cache: PageCacheUsage;
  readonly counters: PageCacheCounters;
  /** Seconds in which the disk was busy. */
  readonly diskSeconds: number;
}

/** What happened; `outOfMemory` instead of a run where something that can't be paged doesn't fit. */
export interface SimulationResult {
  readonly outOfMemory: readonly Infeasibility[];
  readonly trace: Trace;
  readonly devices: readonly SimulatedDevice[];
  /** Simulated seconds. */
  readonly seconds: number;
}

export interface SimulationParts extends SimulationOptions {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  /** One prompt, then `outputTokens` tokens. */
  readonly workload: Workload;
}

/** Assumed: what a prefetching thread keeps in flight; the kernel takes 4 MiB a call, several at a time. */
const DEFAULT_CHUNK_BYTES = 16 * 2 ** 20;

/**
 * Replays a plan, event by event: what closed forms leave out is there, overlap, page cache, prefetching and its release.
 * @throws InputError if the plan doesn't fit cluster and model
 */
export function simulate(parts: SimulationParts): SimulationResult {
  const { cluster, model, plan, workload, reclaim = 'os', context = 'growing', runtime = DEFAULT_RUNTIME } = parts;
  validatePlan(plan, cluster, model);
  const contextOf = (index: number): number =>
    context === 'fixed' ? workload.context : workload.promptTokens + Math.max(0, index - 1);
  const longest = contextOf(workload.outputTokens);
  const { infeasible } = createRingPredictor(cluster, model, { ...workload, context: longest }, { runtime })(plan);
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: parts.record !== 'tokens' });
  const used = cluster.devices.flatMap((device, index) => (isUsed(plan, device) ? [{ device, index }] : []));
  const trace: Trace = {
    devices: used.map(({ device }) => ({
      name: device.name,
      lanes: ['cpu', ...(device.gpu ? (['gpu'] as const) : []), 'disk', 'link'],
    })),
    spans: recorder.spans,
    tokens: recorder.tokens,
    counters: [],
  };
  if (infeasible.length > 0) return { outOfMemory: infeasible, trace, devices: [], seconds: 0 };
  const costs = createRingCosts(cluster, model, workload, runtime);
  const memories = cluster.devices.map((device) =>
    weightsMemory({ device, model, plan, workload, runtime, reclaim, longest }),
  );
  const devices = used.map(({ device, index }) => {
    const memory = memories[index] as WeightsMemory;
    return createRingDevice({
      simulation,
      recorder,
      device,
      index,
      costs,
      plan,
      reclaim: memory.policy,
      limit: memory.limit(contextOf(0)),
      extentBytes: parts.extentBytes ?? DEFAULT_EXTENT_BYTES,
      chunkBytes: parts.chunkBytes ?? DEFAULT_CHUNK_BYTES,
    });
  });
  for (const device of devices) {
    if (device.policy.prefetch !== 'none') simulation.spawn(`prefetching on ${device.name}`, prefetchWindows(device));
  }
  const request = simulation.spawn(
    'request',
    ring({
      simulation,
      recorder,
      cluster,
      model,
      plan,
      workload,
      runtime,
      devices: new Map(devices.map((device) => [device.name, device])),
      contextOf,
      limitOf: ({ index }, tokens) => (memories[index] as WeightsMemory).limit(tokens),
    }),
  );
  simulation.run(request);
  return { outOfMemory: [], trace, devices: devices.map(summary), seconds: simulation.now };
}

function isUsed(plan: Plan, { name }: Device): boolean {
  return plan.output.device === name || plan.stages.some((stage) => stage.device === name);
}

function summary({ name, cache, reader, disk }: RingDevice): SimulatedDevice {
  return {
    device: name,
    ...reader.totals,
    cache: cache.usage(),
    counters: cache.counters(),
    diskSeconds: disk.usage().busySeconds,
  };
}
