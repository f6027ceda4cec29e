import type { Device } from '../../engine/hardware/device.ts';
import { reloadRate } from '../../engine/hardware/device.ts';
import type { Effect } from '../kernel/effect.ts';
import type { RateUsage } from '../kernel/rate.ts';
import { createSharedRate } from '../kernel/shared-rate.ts';
import type { Simulation } from '../kernel/simulation.ts';
import { type KernelRates, type PagePolicy, policyParameters } from './page-cache-policy.ts';

/** How a reader goes through a file: in order with the kernel reading ahead, or page by page. */
export type Access = 'sequential' | 'random';

/** A device's disk: page faults and prefetching share it. */
export interface Disk {
  readonly name: string;
  read(bytes: number, access: Access): Effect<void>;
  usage(): RateUsage;
}

/**
 * Reads under way share the disk's time equally. A throttled disk lets a burst through at once after a pause. A sequential read moves s_m^disk bytes per second of it (prima.cpp
 * Eqs. 15–17: the random rate on macOS, which faults page by page even so); a random one the disk's random rate.
 * @param burstSeconds of its rate; 0: no throttle
 */
export function createDisk(simulation: Simulation, device: Device, burstSeconds = 0): Disk {
  const name = `${device.name}'s disk`;
  const rate = reloadRate(device);
  const time = createSharedRate(simulation, { name, rate });
  const slowdown = { sequential: 1, random: rate / device.disk.random };
  const saved = createSavings(simulation, rate, burstSeconds);
  return {
    name,
    read(bytes, access) {
      const work = bytes * slowdown[access];
      return time.transfer(work - saved(work));
    },
    usage: () => time.usage(),
  };
}

/**
 * What a throttle lets through at once: as much as it would have let through in the pause before, up to `burstSeconds` of
 * it. Where there is a burst all that is read is known to the throttle, so that it tells a pause: what was let through
 * takes its time at the rate, whoever asked for it.
 * @returns takes from what is saved, and says how much
 */
function createSavings(simulation: Simulation, rate: number, burstSeconds: number): (bytes: number) => number {
  /** When all that was asked for will have been let through. */
  let busyUntil = 0;
  let saved = burstSeconds * rate;
  return (bytes) => {
    const pause = Math.max(0, simulation.now - busyUntil);
    saved = Math.min(burstSeconds * rate, saved + pause * rate);
    const taken = Math.min(saved, bytes);
    saved -= taken;
    busyUntil = Math.max(busyUntil, simulation.now) + (bytes - taken) / rate;
    return taken;
  };
}

/** How pages come to a computation. */
export interface Faults {
  /** How page faults read. */
  readonly access: Access;
  /** Computing begins before the whole range is there: what has come is used while the next pages come. */
  readonly usesPagesAsTheyCome: boolean;
  readonly kernel: KernelRates;
}

/**
 * On Linux the kernel reads ahead, and a computation uses pages while the next ones come: measured, a ring that reads all
 * its weights takes the time of the disk, not that of the disk and the processor. Page by page where the mapping is
 * advised MADV_RANDOM. The paper's ideals (Eqs. 15, 16) know neither.
 */
export function faultsOf(policy: PagePolicy): Faults {
  const { kind, readAhead, kernel } = policyParameters(policy);
  const isLinux = kind === 'linux' || kind === 'linux-two-list';
  const isAhead = isLinux && readAhead > 0;
  return { access: isLinux && !isAhead ? 'random' : 'sequential', usesPagesAsTheyCome: isAhead, kernel };
}
