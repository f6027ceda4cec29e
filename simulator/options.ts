import type { PartTimes } from '../engine/cost/chip/part-times.ts';
import type { KvPaging } from '../engine/cost/kv-pages.ts';
import type { Runtime } from '../engine/cost/runtime.ts';
import type { Speculation } from '../engine/cost/speculation.ts';
import type { Routing } from '../engine/experts/routing.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import { reloadRate } from '../engine/hardware/device.ts';
import { InputError, suggestion } from '../engine/input/input-error.ts';
import type { Model } from '../engine/model/model.ts';
import type { Workload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import type { TokenInterval } from '../engine/trace/trace.ts';
import type { DiskThrottle } from './hardware/disk.ts';
import type { FrameSource } from './hardware/frames.ts';
import type { Moment } from './observer.ts';
import { PAGE_POLICIES, type PagePolicy } from './page-cache/policies.ts';

/** Seed of noise, jitter and loss, unless given. */
export const DEFAULT_SEED = 1;

/** From `time` on (seconds), other apps take `bytes` of the memory that was available to the model. */
export interface MemoryTaken {
  readonly time: number;
  readonly bytes: number;
}

/** Speculative decoding: drafted tokens are accepted at random, each with probability α if those before it were. */
export interface SimulatedSpeculation extends Speculation {
  /** TPOT of the draft model, which runs on the head while nothing else does. */
  readonly draftSeconds: number;
}

/** Assumptions of a simulation. */
export interface SimulationOptions {
  /**
   * How operating systems reclaim: `os`, each in its own way (Linux and macOS strict LRU, macOS with Metal all or
   * nothing, Android after swapping out other apps); `overflow`, as in prima.cpp's Eqs. 15–17; or one policy for all
   * devices.
   */
  readonly reclaim?: 'os' | 'overflow' | PagePolicy;
  /** `growing`: from the prompt's length on, as in a real run; `fixed`: `workload.context` at every token. */
  readonly context?: 'growing' | 'fixed';
  readonly runtime?: Runtime;
  /** How KV caches of GPU layers are paged where the plan keeps them in RAM; not at all unless given. */
  readonly paging?: KvPaging;
  /** Memory that other apps take during the run, by device; each value holds until the next. */
  readonly memoryTaken?: Readonly<Record<string, readonly MemoryTaken[]>>;
  /** Seconds of products from a profile, for plans of kind `chip`; the chip's closed forms unless given. */
  readonly times?: PartTimes;
  /** Another program that renders on the GPU of the chip, from the start on; plans of kind `chip` only. */
  readonly frames?: FrameSource;
  /**
   * A token is decoded before the prompt, as programs do to warm the page cache (llama.cpp's warm-up run); it isn't
   * traced as a token. Rings and single devices only.
   */
  readonly warm?: boolean;
  /** Tokens are drafted and verified, several in a pass. Rings, single devices, and CPU and GPU only. */
  readonly speculation?: SimulatedSpeculation;
  /** Relative standard deviation of the time of each layer's computation; 0 unless given. */
  readonly noise?: number;
  /** Seed of noise, jitter and loss; DEFAULT_SEED unless given. */
  readonly seed?: number;
  /**
   * The experts that tokens use, those of the prompt first, for plans that say how experts are cached, or which device
   * holds them. By default it is drawn: from usualRouting in the first case, with all experts equally likely in the second.
   */
  readonly routing?: Routing;
  /** Granularity of the page cache, bytes. */
  readonly extentBytes?: number;
  /**
   * `own`: every device has a file with its layers only (`hearth split`); `whole`, the default: all have the model's
   * file.
   */
  readonly files?: 'whole' | 'own';
  /**
   * How pinned weights stay where page faults read the rest: `locked` (mlock; the default), or only `kept`: they aren't
   * released, as in Hearth's runtime, and the operating system may evict them.
   */
  readonly pins?: 'locked' | 'kept';
  /** A throttle in front of all devices' disks; none unless given. */
  readonly throttle?: DiskThrottle;
  /** Largest read of a prefetching thread at once, bytes; an eighth of a layer, but at least 16 MiB, unless given. */
  readonly chunkBytes?: number;
  /** `tokens`: the trace has neither spans nor counters; sweeps are faster without. */
  readonly record?: 'spans' | 'tokens';
  /** With `record: 'tokens'`: a stage reads its weights as one range, not layer by layer, which makes sweeps faster. */
  readonly joinsLayers?: boolean;
  /** Called after every decoded token; the run ends when it returns true, even before `outputTokens`. */
  readonly isEnough?: (tokens: readonly TokenInterval[]) => boolean;
  /** Called whenever residency may have changed, with the moment at which it did. */
  readonly observe?: (moment: Moment) => void;
}

/** Inputs of `simulate`. */
export interface SimulationParts extends SimulationOptions {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  /** One prompt, then `outputTokens` tokens. */
  readonly workload: Workload;
}

/**
 * The values of `--reclaim`. `android` is missing because it needs numbers of its own; `os` takes them from the device.
 */
export const SIMULATED_RECLAIMS = ['os', 'overflow', 'linux', 'linux-two-list', 'mglru', 'metal'] as const;
/** Name of a way in which simulated operating systems reclaim weights. */
export type SimulatedReclaim = (typeof SIMULATED_RECLAIMS)[number];

/** The `reclaim` option that a `--reclaim` names. */
export function simulatedReclaim(reclaim: SimulatedReclaim): NonNullable<SimulationOptions['reclaim']> {
  return reclaim === 'os' || reclaim === 'overflow' ? reclaim : { name: reclaim };
}

/** @throws InputError for an option, or a rate of a disk or link, that is out of range */
export function checkOptions(options: SimulationOptions, cluster: Cluster): void {
  const { noise = 0, seed = 0, reclaim = 'os', extentBytes = 1, chunkBytes = 1, memoryTaken = {} } = options;
  const { paging, frames } = options;
  const { sliceSeconds, diskRate } = options.throttle ?? { sliceSeconds: 1, diskRate: 1 };
  const names: readonly string[] = ['os', 'overflow', ...PAGE_POLICIES];
  const policy = typeof reclaim === 'string' ? reclaim : reclaim.name;
  if (!names.includes(policy)) throw new InputError('reclaim', `unknown "${policy}"${suggestion(policy, names)}`);
  check('noise', noise, noise >= 0 && noise <= 1, 'a relative deviation from 0 to 1');
  check('seed', seed, Number.isInteger(seed), 'a whole number');
  check('extentBytes', extentBytes, Number.isInteger(extentBytes) && extentBytes >= 1, 'a whole number of bytes');
  check('chunkBytes', chunkBytes, chunkBytes >= 1 && Number.isFinite(chunkBytes), 'a number of bytes');
  check('throttle.sliceSeconds', sliceSeconds, sliceSeconds > 0 && sliceSeconds < 60, 'seconds, above 0 and below 60');
  check('throttle.diskRate', diskRate, isRate(diskRate), 'a rate above 0 bytes per second');
  if (paging !== undefined) {
    const { pageTokens, watermark, passingSlices } = paging;
    check('paging.pageTokens', pageTokens, Number.isInteger(pageTokens) && pageTokens >= 1, 'a whole number of tokens');
    check('paging.watermark', watermark, watermark > 0 && watermark <= 1, 'a share above 0 and at most 1');
    const slices = Number.isInteger(passingSlices) && passingSlices >= 1;
    check('paging.passingSlices', passingSlices, slices, 'a whole number from 1 on');
  }
  if (options.speculation !== undefined) {
    const { acceptanceRate, draftTokens, draftSeconds, sureRate = 1 } = options.speculation;
    for (const [name, rate] of Object.entries({ acceptanceRate, sureRate }))
      check(`speculation.${name}`, rate, rate >= 0 && rate <= 1, 'a probability from 0 to 1');
    const isCount = Number.isInteger(draftTokens) && draftTokens >= 0;
    check('speculation.draftTokens', draftTokens, isCount, 'a whole number from 0 on');
    const isTime = draftSeconds >= 0 && Number.isFinite(draftSeconds);
    check('speculation.draftSeconds', draftSeconds, isTime, 'seconds, 0 or more');
  }
  if (frames !== undefined) {
    const { first, interval, seconds, bytes, inFlight } = frames;
    check('frames.first', first, first >= 0 && Number.isFinite(first), 'seconds, 0 or more');
    check('frames.interval', interval, interval > 0 && Number.isFinite(interval), 'seconds above 0');
    check('frames.seconds', seconds, seconds >= 0 && Number.isFinite(seconds), 'seconds, 0 or more');
    check('frames.bytes', bytes, bytes >= 0 && Number.isFinite(bytes), 'bytes, 0 or more');
    check('frames.inFlight', inFlight, Number.isInteger(inFlight) && inFlight >= 1, 'a whole number of frames');
  }
  const devices = cluster.devices.map(({ name }) => name);
  for (const [name, schedule] of Object.entries(memoryTaken)) {
    if (!devices.includes(name))
      throw new InputError('memoryTaken', `no device is called "${name}"${suggestion(name, devices)}`);
    for (const [index, { time, bytes }] of schedule.entries()) {
      const place = `memoryTaken.${name}[${index}]`;
      const before = schedule[index - 1]?.time ?? 0;
      check(`${place}.time`, time, time >= before && Number.isFinite(time), 'seconds, in ascending order');
      check(`${place}.bytes`, bytes, bytes >= 0 && Number.isFinite(bytes), 'bytes, 0 or more');
    }
  }
  for (const device of cluster.devices) {
    for (const rate of [reloadRate(device), device.disk.random])
      check(`${device.name}: disk`, rate, isRate(rate), 'a rate above 0 bytes per second');
  }
  for (const link of [cluster.links.default, ...cluster.links.pairs.values()]) {
    const { latency, bandwidth, jitter = 0, loss = 0 } = link;
    check('links: bandwidth', bandwidth, isRate(bandwidth), 'a rate above 0 bytes per second');
    check('links: latency', latency, latency >= 0 && Number.isFinite(latency), 'seconds, 0 or more');
    check('links: jitter', jitter, jitter >= 0 && Number.isFinite(jitter), 'seconds, 0 or more');
    check('links: loss', loss, loss >= 0 && loss < 1, 'a share of packets below 1');
  }
}

function isRate(rate: number): boolean {
  return rate > 0 && Number.isFinite(rate);
}

function check(where: string, value: number, isAllowed: boolean, allowed: string): void {
  if (!isAllowed) throw new InputError(where, `${value} is not ${allowed}`);
}
