import type { PageCache } from './page-cache/page-cache.ts';
import type { SimulatedDevice } from './simulate.ts';

export interface ResidentDevice {
  readonly name: string;
  /** Nothing is in it, for nothing is mapped. */
  readonly cache: PageCache;
  /** Weights, KV cache and buffers at the end, bytes. */
  readonly nonReclaimableBytes: number;
  readonly memoryTotal: number;
}

/** What is reported of a device whose weights stay in memory: it reads nothing, so it waits for no disk. */
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
