import type { Infeasibility } from '../engine/cost/breakdown.ts';
import type { Trace } from '../engine/trace/trace.ts';
import type { ReadingTotals } from './hardware/weights-reader.ts';
import type { PageCache, PageCacheUsage } from './page-cache/page-cache.ts';
import type { PageCacheCounters } from './page-cache/state.ts';

/** Activity of a device in a run. */
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

/** The outcome of a run. `outOfMemory` lists what can't be paged and did not fit, before the run or in its course. */
export interface SimulationResult {
  readonly outOfMemory: readonly Infeasibility[];
  readonly trace: Trace;
  readonly devices: readonly SimulatedDevice[];
  /** Simulated seconds. */
  readonly seconds: number;
}

export interface ResidentDevice {
  readonly name: string;
  /** Empty, since nothing is mapped. */
  readonly cache: PageCache;
  /** Weights, KV cache and buffers at the end, bytes. */
  readonly nonReclaimableBytes: number;
  readonly memoryTotal: number;
}

/** The result of a device whose weights stay in memory: it reads nothing and waits for no disk. */
export function residentDevice({ name, cache, nonReclaimableBytes, memoryTotal }: ResidentDevice): SimulatedDevice {
  return {
    device: name,
    stallSeconds: 0,
    faultedBytes: 0,
    prefetchedBytes: 0,
    cache: cache.usage(),
    counters: cache.counters(),
    diskSeconds: 0,
    nonReclaimableBytes,
    memoryTotal,
  };
}
