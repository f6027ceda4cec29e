import type { DeviceCosts, RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { NO_WEIGHTS_POLICY, type Plan, type Stage, type WeightsPolicy } from '../../engine/plan/plan.ts';
import { type MappedWeights, mapWeights } from '../hardware/mapped-weights.ts';
import { createPageCache, type PageCache } from '../hardware/page-cache.ts';
import type { PagePolicy } from '../hardware/page-cache-policy.ts';
import type { ByteRange } from '../hardware/page-cache-range.ts';
import { createWeightsReader, type WeightsReader } from '../hardware/weights-reader.ts';
import type { Steps } from '../kernel/effect.ts';
import { createMailbox, type Mailbox } from '../kernel/mailbox.ts';
import type { Rate } from '../kernel/rate.ts';
import { createSharedRate } from '../kernel/shared-rate.ts';
import type { Simulation } from '../kernel/simulation.ts';
import type { Recorder } from '../recorder.ts';
import type { Visit } from './itinerary.ts';

/** A device of a ring, in motion. */
export interface RingDevice {
  readonly name: string;
  readonly index: number;
  readonly weights: MappedWeights;
  readonly cache: PageCache;
  readonly reader: WeightsReader;
  readonly disk: Rate;
  readonly policy: WeightsPolicy;
  /** Weights of windows to come, for the prefetching thread. */
  readonly wanted: Mailbox<readonly ByteRange[]>;
  /** After a visit: gives back what the policy says, and asks for the next window. */
  leave(visit: Visit, next: Visit): void;
}

export interface RingDeviceParts {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly device: Device;
  readonly index: number;
  readonly costs: RingCosts;
  readonly plan: Plan;
  readonly reclaim: PagePolicy;
  readonly limit: number;
  readonly extentBytes: number;
  readonly chunkBytes: number;
}

export function createRingDevice(parts: RingDeviceParts): RingDevice {
  const { simulation, recorder, device, index, costs, plan, reclaim, limit, extentBytes, chunkBytes } = parts;
  const { unified, reloadRate } = costs.devices[index] as DeviceCosts;
  const stages = plan.stages.filter((stage) => stage.device === device.name);
  const isHead = plan.output.device === device.name;
  const outputInRam = plan.output.processor === 'cpu' || unified;
  const weights = mapWeights({ costs, stages, unified, isHead, outputInRam });
  const cache = createPageCache({ size: weights.size, limit, policy: reclaim, extentBytes });
  const disk = createSharedRate(simulation, { name: `${device.name}'s disk`, rate: reloadRate });
  const reader = createWeightsReader({
    simulation,
    cache,
    disk,
    chunkBytes,
    onRead: ({ reader, bytes, start, end }) => {
      const name = reader === 'demand' ? 'page fault' : 'prefetch';
      recorder.span({ device: device.name, lane: 'disk', cause: 'disk', name, start, end, args: { bytes } });
    },
  });
  const policy = plan.weights[device.name] ?? NO_WEIGHTS_POLICY;
  const wanted = createMailbox<readonly ByteRange[]>(simulation, { name: `windows wanted on ${device.name}` });
  const pinned =
    policy.release === 'pinned' ? pinPrefixes(rangesOf(stages, weights), policy.pinnedBytes, extentBytes) : [];
  for (const range of pinned) cache.pin(range);
  const ring: RingDevice = {
    name: device.name,
    index,
    weights,
    cache,
    reader,
    disk,
    policy,
    wanted,
    leave(visit, next) {
      if (policy.release !== 'none') for (const range of rangesOf(visit.stages, weights)) cache.release(range);
      const ranges = rangesOf(next.stages, weights);
      if (policy.prefetch !== 'none' && ranges.length > 0)
        simulation.spawn(`ask for a window on ${device.name}`, ask(ranges));
    },
  };
  function* ask(ranges: readonly ByteRange[]): Steps {
    yield wanted.put(ranges);
  }
  return ring;
}

/** The thread that prefetches: window after window, as they are asked for, until it is interrupted. */
export function* prefetchWindows({ wanted, reader, policy }: RingDevice): Steps<never> {
  for (;;) {
    const ranges = yield* wanted.take();
    for (const range of ranges) yield* reader.prefetch(range, policy.prefetch === 'populate' ? 'populate' : 'willneed');
  }
}

function rangesOf(stages: readonly Stage[], weights: MappedWeights): ByteRange[] {
  return stages.flatMap((stage) => weights.stage(stage) ?? []);
}

/** The first part of every window, `bytes` in all, in whole extents. */
function pinPrefixes(windows: readonly ByteRange[], bytes: number, extentBytes: number): ByteRange[] {
  const total = windows.reduce((sum, { from, to }) => sum + to - from, 0);
  return windows.map(({ from, to }) => {
    const start = Math.ceil(from / extentBytes) * extentBytes;
    const wanted = Math.floor(((to - from) * bytes) / total / extentBytes) * extentBytes;
    return { from: Math.min(start, to), to: Math.min(to, start + wanted) };
  });
}
