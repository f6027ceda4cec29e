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

/** How Linux holds a disk to a device's rate (blkio, io.max; block/blk-throttle.c). */
export interface DiskThrottle {
  /** After a pause it lets through at once what it would have let through in so many seconds: 0.1 (DFL_THROTL_SLICE). */
  readonly burstSeconds: number;
  /** Of the disk behind it, bytes per second. */
  readonly diskRate: number;
}

/**
 * Reads under way share the disk's time equally. A throttled disk lets a burst through at once after a pause. A sequential read moves s_m^disk bytes per second of it (prima.cpp
 * Eqs. 15–17: the random rate on macOS, which faults page by page even so); a random one the disk's random rate.
 * @param throttle undefined: the device's rate is the disk's own
 */
export function createDisk(simulation: Simulation, device: Device, throttle?: DiskThrottle): Disk {
  const name = `${device.name}'s disk`;
  const rate = reloadRate(device);
  const time = createSharedRate(simulation, { name, rate });
  const slowdown = { sequential: 1, random: rate / device.disk.random };
  const spared = throttle === undefined ? () => 0 : createBursts(simulation, rate, throttle);
  return {
    name,
    read(bytes, access) {
      const work = bytes * slowdown[access];
      return time.transfer(work - spared(work));
    },
    usage: () => time.usage(),
  };
}

/**
 * What a throttle lets through at once comes at the disk's own rate: as much as would have come in the pause before, up to
 * a burst. All reads together have one such allowance.
 * @returns of so many bytes, those that are spared by it in the time of the throttle's rate
 */
function createBursts(
  simulation: Simulation,
  rate: number,
  { burstSeconds, diskRate }: DiskThrottle,
): (bytes: number) => number {
  /** When all that was asked for will have been let through. */
  let busyUntil = 0;
  let allowance = burstSeconds * rate;
  return (bytes) => {
    const pause = Math.max(0, simulation.now - busyUntil);
    allowance = Math.min(burstSeconds * rate, allowance + pause * rate);
    const burst = Math.min(allowance, bytes);
    allowance -= burst;
    const spared = burst * Math.max(0, 1 - rate / diskRate);
    busyUntil = Math.max(busyUntil, simulation.now) + (bytes - spared) / rate;
    return spared;
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
