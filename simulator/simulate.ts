import type { Infeasibility } from '../engine/cost/breakdown.ts';
import type { KvPaging } from '../engine/cost/kv-pages.ts';
import { socCase } from '../engine/cost/predict-soc.ts';
import type { Runtime } from '../engine/cost/runtime.ts';
import { cutDevices } from '../engine/cost/tensor-parallel.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Model } from '../engine/model/model.ts';
import type { Workload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { validatePlan } from '../engine/plan/validate-plan.ts';
import type { TokenInterval, Trace } from '../engine/trace/trace.ts';
import type { DiskThrottle } from './hardware/disk-throttle.ts';
import type { ReadingTotals } from './hardware/weights-reader.ts';
import type { Moment } from './observer.ts';
import { checkOptions } from './options.ts';
import type { PageCacheUsage } from './page-cache/page-cache.ts';
import type { PagePolicy } from './page-cache/policies.ts';
import type { PageCacheCounters } from './page-cache/state.ts';
import { simulateCut } from './simulate-cut.ts';
import { simulateSoc } from './simulate-soc.ts';
import type { MemoryTaken } from './systems/memory-guard.ts';
import { simulateRing } from './systems/ring.ts';

export interface SimulationOptions {
  /**
   * How operating systems reclaim: `os`, each as it does (Linux and macOS strict LRU, macOS with Metal all or nothing,
   * Android after swapping others out); `overflow`, as prima.cpp's Eqs. 15–17 have it; or one policy for all devices.
   */
  readonly reclaim?: 'os' | 'overflow' | PagePolicy;
  /** `growing`: from the prompt's length on, as in a real run; `fixed`: `workload.context` at every token. */
  readonly context?: 'growing' | 'fixed';
  readonly runtime?: Runtime;
  /** How KV caches of GPU layers are paged where the plan has them in RAM; unless given, as RingPredictionOptions has it. */
  readonly paging?: KvPaging;
  /** Memory that other apps take during the run, by device; each value holds until the next. */
  readonly memoryTaken?: Readonly<Record<string, readonly MemoryTaken[]>>;
  /** Relative standard deviation of the time of each layer's computation; 0 unless given. */
  readonly noise?: number;
  /** Of noise, jitter and loss. */
  readonly seed?: number;
  /** Granularity of the page cache, bytes. */
  readonly extentBytes?: number;
  /** `own`: every device has a file with its layers only (`hearth split`); `whole`, unless given: all have the model's. */
  readonly files?: 'whole' | 'own';
  /** The rates of all devices' disks are a throttle's; their own, unless given. */
  readonly throttle?: DiskThrottle;
  /** Largest read of a prefetching thread at once, bytes; an eighth of a layer, but at least 16 MiB, unless given. */
  readonly chunkBytes?: number;
  /** `tokens`: the trace has neither spans nor counters; sweeps are faster without. */
  readonly record?: 'spans' | 'tokens';
  /** With `record: 'tokens'`: a stage's weights are asked for as one range, not layer by layer; sweeps are faster so. */
  readonly joinsLayers?: boolean;
  /** Asked after every decoded token: where it says yes, the run ends, though `outputTokens` may not be reached. */
  readonly isEnough?: (tokens: readonly TokenInterval[]) => boolean;
  /** Is told of every moment at which what is in memory is worth a look. */
  readonly observe?: (moment: Moment) => void;
}

export interface SimulatedDevice extends ReadingTotals {
  readonly device: string;
  readonly cache: PageCacheUsage;
  readonly counters: PageCacheCounters;
  /** Seconds in which the disk was busy. */
  readonly diskSeconds: number;
  /** KV cache, buffers and pinned weights at the end: over `memoryTotal`, the memory pressure (prima.cpp 4.3). */
  readonly nonReclaimableBytes: number;
  readonly memoryTotal: number;
}

/** What happened; `outOfMemory` where something that can't be paged doesn't fit: before the run, or in its course. */
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

/**
 * Replays a plan, event by event: what closed forms leave out is there, overlap, page cache, prefetching and its release.
 * @throws InputError if the plan doesn't fit cluster and model, or an option isn't one
 */
export function simulate(parts: SimulationParts): SimulationResult {
  const { cluster, model, plan, workload, context = 'growing' } = parts;
  validatePlan(plan, cluster, model);
  checkOptions(parts, cluster);
  const contextOf = (index: number): number =>
    context === 'fixed' ? workload.context : workload.promptTokens + Math.max(0, index - 1);
  const chip = socCase(plan, cluster, model);
  if (chip !== undefined) return simulateSoc(parts, chip, contextOf);
  const cut = cutDevices(plan, cluster);
  return cut === undefined ? simulateRing(parts, contextOf) : simulateCut(parts, cut, contextOf);
}
