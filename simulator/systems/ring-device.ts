import type { DeviceCosts, RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { FittedPlan, Stage } from '../../engine/plan/plan.ts';
import { type FittedPolicy, NO_WEIGHTS_POLICY, pinnedBytesOf } from '../../engine/plan/weights-policy.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold } from '../event-loop/hold.ts';
import { createMailbox, type Mailbox } from '../event-loop/mailbox.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import { createDisk, type Disk, faultsOf } from '../hardware/disk.ts';
import type { DiskThrottle } from '../hardware/disk-throttle.ts';
import type { GpuKvPages } from '../hardware/gpu-kv-pages.ts';
import { createPagedKv, type PagedKv } from '../hardware/paged-kv.ts';
import { type MappedWeights, mapWeights } from '../hardware/weights-layout.ts';
import type { WeightsMemory } from '../hardware/weights-memory.ts';
import { createWeightsReader, type WeightsReader } from '../hardware/weights-reader.ts';
import { createObserver, type Moment, type Observer } from '../observer.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import { createPageCache, type PageCache } from '../page-cache/page-cache.ts';
import type { Recorder } from '../recorder.ts';
import type { Visit } from './windows.ts';

/** What a prefetching thread is asked for. */
interface Wanted {
  readonly ranges: readonly ByteRange[];
  /** It gives back what the window before doesn't need any more, and only then reads. */
  readonly releaseSeconds: number;
}

/** A device of a ring, in motion. */
export interface RingDevice {
  readonly name: string;
  readonly index: number;
  readonly weights: MappedWeights;
  readonly cache: PageCache;
  readonly reader: WeightsReader;
  readonly disk: Disk;
  readonly policy: FittedPolicy;
  /** How windows are read ahead; undefined: page faults load them. */
  readonly prefetcher: 'willneed' | 'populate' | undefined;
  readonly memory: WeightsMemory;
  /** Weights that stay in memory for good. */
  readonly pinnedBytes: number;
  /** The KV cache of its GPU layers in pages, where it is paged. */
  readonly paged: PagedKv | undefined;
  /** Weights of windows to come, for the prefetching thread. */
  readonly wanted: Mailbox<Wanted>;
  /** After a visit: gives back what the policy says, and asks for what the next ones need. */
  leave(visit: Visit, next: readonly Visit[]): void;
  /** undefined: nobody watches. */
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
  /** The device's. */
  readonly stages: readonly Stage[];
  readonly memory: WeightsMemory;
  readonly paged: GpuKvPages | undefined;
  /** Tokens in the KV cache at the beginning. */
  readonly context: number;
  /** Its file has its own layers only. */
  readonly ownFile: boolean;
  readonly throttle: DiskThrottle | undefined;
  readonly extentBytes: number;
  readonly chunkBytes: number;
}

/**
 * Larger reads would push out what is still to be used. MADV_WILLNEED leaves the room of one to page faults, which must
 * not make a difference either: at a sixteenth, one plan in six that uses it came out wrong by a tenth and more.
 */
const CHUNKS_IN_MEMORY = { populate: 16, willneed: 32 } as const;

/** Linux reads the first few MiB of one call for a whole window, and leaves the rest to page faults: as good as none. */
const PREFETCHERS = {
  none: undefined,
  willneed: 'willneed',
  'willneed-whole': undefined,
  populate: 'populate',
} as const;

export function createRingDevice(parts: RingDeviceParts): RingDevice {
  const { simulation, recorder, device, index, costs, plan, stages, memory, context, extentBytes, chunkBytes } = parts;
  const { unified } = costs.devices[index] as DeviceCosts;
  const isHead = plan.output.device === device.name;
  const outputInRam = plan.output.processor === 'cpu' || unified;
  const weights = mapWeights({ costs, stages, unified, isHead, outputInRam, ownFile: parts.ownFile });
  const limit = Math.max(0, memory.available - memory.fixedBytes(context));
  const cache = createPageCache({
    size: weights.size,
    used: weights.used,
    limit,
    policy: memory.policy,
    extentBytes,
    now: () => simulation.now,
  });
  const disk = createDisk(simulation, device, parts.throttle);
  const sampleCache = (): void => {
    if (!recorder.wantsSpans) return;
    recorder.sample(device.name, 'resident weights (bytes)', simulation.now, cache.usage().resident);
  };
  const faults = faultsOf(memory.policy);
  const policy = plan.weights[device.name] ?? NO_WEIGHTS_POLICY;
  const prefetcher = PREFETCHERS[policy.prefetch];
  const observe = createObserver({ simulation, device: device.name, cache, weights, observe: parts.observe });
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
  const wanted = createMailbox<Wanted>(simulation, { name: `windows wanted on ${device.name}` });
  if (policy.release === 'pinned') {
    const windows = stages.flatMap((stage) => weights.stage(stage) ?? []);
    for (const range of pinnedRanges(windows, weights.output, policy.pinned, extentBytes)) cache.pin(range);
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
    wanted,
    observe,
    leave(visit, next) {
      const before = cache.usage().resident;
      if (policy.release !== 'none') for (const range of rangesOf(visit, weights)) cache.release(range);
      const releaseSeconds = (before - cache.usage().resident) / faults.kernel.released;
      sampleCache();
      const ranges = next.flatMap((one) => rangesOf(one, weights));
      if (prefetcher !== undefined && ranges.length > 0)
        simulation.spawn(`ask for a window on ${device.name}`, ask(wanted, { ranges, releaseSeconds }));
    },
  };
}

function* ask(wanted: Mailbox<Wanted>, window: Wanted): Steps {
  yield wanted.put(window);
}

/** The thread that prefetches: window after window, as they are asked for, until it is interrupted. */
export function* prefetchWindows(
  { wanted, reader, observe }: RingDevice,
  prefetcher: 'willneed' | 'populate',
): Steps<never> {
  for (;;) {
    const { ranges, releaseSeconds } = yield* wanted.take();
    if (releaseSeconds > 0) yield hold(releaseSeconds);
    for (const range of ranges) {
      yield* reader.prefetch(range, prefetcher);
      observe?.('prefetched');
    }
  }
}

/** Mapped weights that a visit needs. */
function rangesOf({ stages, output }: Visit, weights: MappedWeights): ByteRange[] {
  const layers = stages.flatMap((stage) => weights.stage(stage) ?? []);
  return output && weights.output !== undefined ? [...layers, weights.output] : layers;
}

/** What of `bytes` stays: the output layer, then a prefix of every window. */
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

/** The first part of every range, `bytes` in all: everything, or whole extents, what one lacks made up by the next. */
function prefixes(ranges: readonly ByteRange[], bytes: number, extentBytes: number): readonly ByteRange[] {
  const total = ranges.reduce((sum, { from, to }) => sum + to - from, 0);
  if (bytes >= total) return ranges;
  let due = 0;
  return ranges.map(({ from, to }) => {
    due += Math.max(0, ((to - from) * bytes) / total);
    const start = Math.min(to, Math.ceil(from / extentBytes) * extentBytes);
    const end = Math.min(to, start + Math.floor(due / extentBytes) * extentBytes);
    due -= end - start;
    return { from: start, to: end };
  });
}
