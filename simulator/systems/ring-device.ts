import type { DeviceCosts, RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { FittedPlan, Stage } from '../../engine/plan/plan.ts';
import { type FittedPolicy, NO_WEIGHTS_POLICY, pinnedBytesOf } from '../../engine/plan/weights-policy.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createMailbox, type Mailbox } from '../event-loop/mailbox.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import { createDisk, type Disk, type DiskThrottle } from '../hardware/disk.ts';
import { createPagedKv, type GpuKvPages, type PagedKv } from '../hardware/paged-kv.ts';
import { prefetchPopulate, prefetchWillneed } from '../hardware/prefetch.ts';
import { layOutWeights, type WeightsLayout } from '../hardware/weights-layout.ts';
import type { WeightsMemory } from '../hardware/weights-memory.ts';
import { createWeightsReader, type WeightsReader } from '../hardware/weights-reader.ts';
import { createObserver, type Moment, type Observer } from '../observer.ts';
import { addSpan, type ByteRange, type Span, splitBySet } from '../page-cache/extents.ts';
import { createPageCache, type PageCache } from '../page-cache/page-cache.ts';
import { faultsOf } from '../page-cache/policies.ts';
import type { SavedPages } from '../page-cache/saved-pages.ts';
import type { Stop } from './token-path.ts';

/** Ranges that a prefetching thread is to read. */
interface PrefetchRequest {
  readonly ranges: readonly ByteRange[];
  /** Seconds for which the thread first releases the weights of the window before. */
  readonly releaseSeconds: number;
}

/** A device of a ring in a run. */
export interface RingDevice {
  readonly name: string;
  readonly index: number;
  readonly weights: WeightsLayout;
  readonly cache: PageCache;
  readonly reader: WeightsReader;
  readonly disk: Disk;
  readonly policy: FittedPolicy;
  /** How windows are prefetched; `undefined`: page faults load them. */
  readonly prefetcher: Prefetcher | undefined;
  readonly memory: WeightsMemory;
  /** Bytes of weights that are pinned in memory. */
  readonly pinnedBytes: number;
  /** The paged KV cache of its GPU layers; `undefined` if it is not paged. */
  readonly paged: PagedKv | undefined;
  /** Weights of the next windows, for the prefetching thread. */
  readonly requests: Mailbox<PrefetchRequest>;
  /**
   * The device has run a window or the output layer: releases its weights if the policy says so, and requests those that
   * it needs next.
   */
  leave(stop: Stop, next: readonly Stop[]): void;
  /** `undefined` if the run isn't observed. */
  readonly observe: Observer | undefined;
}

export interface RingDeviceParts {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly observe: ((moment: Moment) => void) | undefined;
  readonly device: Device;
  readonly index: number;
  readonly costs: RingCosts;
  readonly plan: FittedPlan;
  /** The device's stages. */
  readonly stages: readonly Stage[];
  readonly memory: WeightsMemory;
  readonly paged: GpuKvPages | undefined;
  /** Tokens in the KV cache at the beginning. */
  readonly context: number;
  /** The device's file has its own layers only. */
  readonly ownFile: boolean;
  /** See SimulationOptions. */
  readonly pins: 'locked' | 'kept';
  readonly throttle: DiskThrottle | undefined;
  readonly extentBytes: number;
  readonly chunkBytes: number;
  /** Contents of its page cache at the beginning; empty unless given. */
  readonly saved?: SavedPages | undefined;
}

/**
 * Chunks that have to fit in memory: larger reads would evict what is still to be used. MADV_WILLNEED leaves the room
 * of one chunk to page faults, which must not make a difference either: with 16 chunks, one plan in six that uses it
 * came out wrong by a tenth or more.
 */
const CHUNKS_IN_MEMORY = { populate: 16, willneed: 32 } as const;

type Prefetcher = 'willneed' | 'populate';

/** How windows are prefetched, and how much of each: bytes from its beginning. */
interface Prefetching {
  readonly prefetcher: Prefetcher | undefined;
  readonly mostBytes: number;
}

/**
 * For one MADV_WILLNEED of a whole window, Linux reads no more than it reads ahead of a page fault
 * (force_page_cache_ra, mm/readahead.c) and leaves the rest to page faults. Less than an extent is below the page
 * cache's granularity: nothing is prefetched then.
 */
function prefetchingOf(prefetch: FittedPolicy['prefetch'], readAhead: number, extentBytes: number): Prefetching {
  switch (prefetch) {
    case 'none':
      return { prefetcher: undefined, mostBytes: 0 };
    case 'willneed-whole':
      return { prefetcher: readAhead < extentBytes ? undefined : 'willneed', mostBytes: readAhead };
    case 'willneed':
    case 'populate':
      return { prefetcher: prefetch, mostBytes: Number.POSITIVE_INFINITY };
  }
}

export function createRingDevice(parts: RingDeviceParts): RingDevice {
  const { simulation, recorder, device, index, costs, plan, stages, memory, context, extentBytes, chunkBytes } = parts;
  const { unified } = costs.devices[index] as DeviceCosts;
  const isHead = plan.output.device === device.name;
  const outputInRam = plan.output.processor === 'cpu' || unified;
  const weights = layOutWeights({ costs, stages, unified, isHead, outputInRam, ownFile: parts.ownFile });
  const limit = Math.max(0, memory.available - memory.fixedBytes(context));
  const cache = createPageCache({
    size: weights.size,
    used: weights.used,
    limit,
    policy: memory.policy,
    extentBytes,
    now: () => simulation.now,
    saved: parts.saved,
  });
  const disk = createDisk(simulation, device, parts.throttle);
  const sampleCache = (): void => {
    if (!recorder.wantsSpans) return;
    recorder.sample(device.name, 'resident weights (bytes)', simulation.now, cache.usage().resident);
  };
  const faults = faultsOf(memory.policy);
  const policy = plan.weights[device.name] ?? NO_WEIGHTS_POLICY;
  const { prefetcher, mostBytes } = prefetchingOf(policy.prefetch, faults.readAhead, extentBytes);
  const observe =
    parts.observe && createObserver({ simulation, device: device.name, cache, weights, observe: parts.observe });
  const reader = createWeightsReader({
    simulation,
    cache,
    disk,
    faults,
    chunkBytes: Math.max(extentBytes, Math.min(chunkBytes, limit / CHUNKS_IN_MEMORY[prefetcher ?? 'populate'])),
    faultsOnly: prefetcher === undefined,
    onRead: ({ reader, bytes, start, end }) => {
      observe?.('read');
      if (!recorder.wantsSpans) return;
      const name = reader === 'demand' ? 'page fault' : 'prefetch';
      recorder.span({ device: device.name, lane: 'disk', cause: 'disk', name, start, end, args: { bytes } });
      sampleCache();
    },
  });
  const requests = createMailbox<PrefetchRequest>(simulation, { name: `windows to prefetch on ${device.name}` });
  const windows = stages.flatMap((stage) => weights.stage(stage) ?? []);
  const pinned = policy.release === 'pinned' ? pinnedRanges(windows, weights.output, policy.pinned, extentBytes) : [];
  // Pins that are only kept aren't released, but page faults may evict them; windows that are prefetched leave room for them.
  const kept: Span[] = [];
  for (const range of pinned) {
    if (prefetcher !== undefined || parts.pins === 'locked') cache.pin(range);
    else addSpan(kept, range);
  }
  sampleCache();
  return {
    name: device.name,
    index,
    weights,
    cache,
    reader,
    disk,
    policy,
    prefetcher,
    memory,
    pinnedBytes: Math.min(pinnedBytesOf(policy), weights.size),
    paged: parts.paged && createPagedKv({ simulation, recorder, device: device.name, ...parts.paged }),
    requests,
    observe,
    leave(stop, next) {
      const before = cache.usage().resident;
      if (policy.release !== 'none') {
        for (const range of rangesOf(stop, weights))
          for (const part of splitBySet(kept, range)) if (!part.inside) cache.release(part);
      }
      const releaseSeconds = (before - cache.usage().resident) / faults.osRates.released;
      sampleCache();
      const ranges = beginnings(next, weights, mostBytes);
      if (prefetcher === undefined || ranges.length === 0) return;
      reader.background.begin();
      simulation.spawn(`request for a window on ${device.name}`, request(requests, { ranges, releaseSeconds }));
    },
  };
}

function* request(requests: Mailbox<PrefetchRequest>, window: PrefetchRequest): Steps {
  yield requests.put(window);
}

/** The prefetching thread: reads window after window, in the order of the requests. */
export function* prefetchWindows({ requests, reader, observe }: RingDevice, prefetcher: Prefetcher): Steps<never> {
  const prefetch = prefetcher === 'populate' ? prefetchPopulate : prefetchWillneed;
  for (;;) {
    const { ranges, releaseSeconds } = yield* requests.take();
    if (releaseSeconds > 0) yield hold(releaseSeconds);
    for (const range of ranges) {
      yield* prefetch(reader, range);
      observe?.('prefetched');
    }
    reader.background.end();
  }
}

/** Mapped weights that a device needs at a stop. */
function rangesOf({ stages, output }: Stop, weights: WeightsLayout): ByteRange[] {
  const layers = stages.flatMap((stage) => weights.stage(stage) ?? []);
  return output && weights.output !== undefined ? [...layers, weights.output] : layers;
}

/** The first `mostBytes` of every stop's weights, which a call for each of them reads. */
function beginnings(stops: readonly Stop[], weights: WeightsLayout, mostBytes: number): ByteRange[] {
  return stops.flatMap((stop) => {
    let left = mostBytes;
    return rangesOf(stop, weights).flatMap(({ from, to }) => {
      const taken = Math.min(left, to - from);
      left -= taken;
      return taken > 0 ? [{ from, to: from + taken }] : [];
    });
  });
}

/** The first `bytes` to pin: the output layer, then a prefix of every window. */
function pinnedRanges(
  windows: readonly ByteRange[],
  output: ByteRange | undefined,
  bytes: number,
  extentBytes: number,
): readonly ByteRange[] {
  if (output === undefined) return prefixes(windows, bytes, extentBytes);
  const outputBytes = output.to - output.from;
  return [...prefixes([output], bytes, extentBytes), ...prefixes(windows, bytes - outputBytes, extentBytes)];
}

/** Granularity of pinned prefixes, bytes: the runtime's (engine/runtime/weights/pinned-ranges.ts). */
const PINNED_GRANULE = 2 ** 21;
/** Bytes of a page. Extents below it are those of a model of toy sizes, which is pinned by extents. */
const PAGE_BYTES = 4096;

/**
 * A prefix of every range, `bytes` in all: everything, or whole granules, where the next range makes up for what
 * rounding took from the one before.
 */
function prefixes(ranges: readonly ByteRange[], bytes: number, extentBytes: number): readonly ByteRange[] {
  const total = ranges.reduce((sum, { from, to }) => sum + to - from, 0);
  if (bytes >= total) return ranges;
  const granule = extentBytes < PAGE_BYTES ? extentBytes : Math.ceil(PINNED_GRANULE / extentBytes) * extentBytes;
  let due = 0;
  return ranges.map(({ from, to }) => {
    due += Math.max(0, ((to - from) * bytes) / total);
    const start = Math.min(to, Math.ceil(from / extentBytes) * extentBytes);
    const end = Math.min(to, start + Math.floor(due / granule) * granule);
    due -= end - start;
    return { from: start, to: end };
  });
}
