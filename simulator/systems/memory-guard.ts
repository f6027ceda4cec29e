import { type Infeasibility, infeasibility } from '../../engine/cost/breakdown.ts';
import { anyOf } from '../event-loop/any-of.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { Process, Simulation } from '../event-loop/simulation.ts';
import type { WeightsMemory } from '../hardware/weights-memory.ts';
import type { MemoryTaken } from '../options.ts';
import type { PageCache } from '../page-cache/page-cache.ts';

/** Limits every device's page cache to the memory that is left, and notices when what can't be paged has no room. */
export interface MemoryGuard {
  /** The KV caches grow to this many tokens. */
  grow(context: number): void;
  /** Happens when a device runs out of memory. */
  readonly exhausted: OneShot<void>;
  /** Shortages of memory; empty unless some have occurred. */
  readonly shortages: readonly Infeasibility[];
}

/** The memory of a device. */
export interface GuardedDevice {
  readonly name: string;
  readonly cache: Pick<PageCache, 'setLimit'>;
  /** Bytes of weights that are pinned in memory. */
  readonly pinnedBytes: number;
  readonly memory: Pick<WeightsMemory, 'available' | 'fixedBytes'>;
}

/** @param taken by device, in order of time */
export function createMemoryGuard(
  simulation: Simulation,
  devices: readonly GuardedDevice[],
  taken: Readonly<Record<string, readonly MemoryTaken[]>>,
): MemoryGuard {
  const exhausted = createOneShot('a device running out of memory');
  const shortages: Infeasibility[] = [];
  const takenNow = new Map<string, number>();
  let tokens = 0;

  const limit = (device: GuardedDevice): void => {
    const { name, cache, memory, pinnedBytes } = device;
    const room = memory.available - (takenNow.get(name) ?? 0);
    const fixed = memory.fixedBytes(tokens);
    if (fixed + pinnedBytes > room) {
      const needs = pinnedBytes > 0 ? 'KV cache, buffers and pinned weights' : 'KV cache and buffers';
      shortages.push(infeasibility(name, 'ram', needs, fixed + pinnedBytes, Math.max(0, room)));
      if (exhausted.state === 'pending') exhausted.succeed();
    }
    cache.setLimit(Math.max(0, room - fixed));
  };

  function* follow(device: GuardedDevice, schedule: readonly MemoryTaken[]): Steps {
    for (const { time, bytes } of schedule) {
      yield hold(Math.max(0, time - simulation.now));
      takenNow.set(device.name, bytes);
      limit(device);
    }
  }

  for (const device of devices) {
    const schedule = taken[device.name] ?? [];
    if (schedule.length > 0) simulation.spawn(`other apps on ${device.name}`, follow(device, schedule), -1);
  }
  return {
    grow(context) {
      tokens = context;
      for (const device of devices) limit(device);
    },
    exhausted,
    shortages,
  };
}

/** Waits until a request has ended, or a device has run out of memory. */
export function* untilExhausted(request: Process<void>, { exhausted }: Pick<MemoryGuard, 'exhausted'>): Steps {
  yield anyOf(request.join(), exhausted.wait());
}
