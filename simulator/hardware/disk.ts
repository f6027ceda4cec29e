import type { Device } from '../../engine/hardware/device.ts';
import { reloadRate } from '../../engine/hardware/device.ts';
import type { Effect } from '../event-loop/effect.ts';
import { holdUntil } from '../event-loop/hold.ts';
import { createSharedRate } from '../event-loop/shared-rate.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import { type KernelRates, type PagePolicy, policyParameters } from '../page-cache/policies.ts';
import { createThrottledReads, type DiskThrottle } from './disk-throttle.ts';

/** How a reader goes through a file: in order with the kernel reading ahead, or page by page. */
export type Access = 'sequential' | 'random';

/** A device's disk: page faults and prefetching share it. */
export interface Disk {
  readonly name: string;
  /** A throttled disk reads in the order of these calls, whenever they are waited for. */
  read(bytes: number, access: Access): Effect<void>;
  /** Seconds, until now, in which something was being read. */
  busySeconds(): number;
}

/**
 * Reads under way share the disk's time equally. A sequential read moves s_m^disk bytes per second of it (prima.cpp
 * Eqs. 15–17: the random rate on macOS, which faults page by page even so); a random one the disk's random rate.
 * @param throttle undefined: the device's rate is the disk's own; else the throttle's, and reads queue for it
 */
export function createDisk(simulation: Simulation, device: Device, throttle?: DiskThrottle): Disk {
  const name = `${device.name}'s disk`;
  const rate = reloadRate(device);
  const { random } = device.disk;
  if (throttle !== undefined) {
    const { sliceSeconds, diskRate } = throttle;
    const reads = createThrottledReads(rate, sliceSeconds);
    return {
      name,
      read: (bytes, access) => holdUntil(reads.end(simulation.now, bytes, access === 'random' ? random : diskRate)),
      busySeconds: () => reads.busySeconds(simulation.now),
    };
  }
  const time = createSharedRate(simulation, { name, rate });
  const slowdown = { sequential: 1, random: rate / random };
  return {
    name,
    read: (bytes, access) => time.transfer(bytes * slowdown[access]),
    busySeconds: () => time.usage().busySeconds,
  };
}

/** How pages come to a computation. */
export interface Faults {
  /** How page faults read. */
  readonly access: Access;
  /** Computing begins before the whole range is there: what has come is used while the next pages come. */
  readonly usesPagesAsTheyCome: boolean;
  /** Where nobody else reads, what is read in one go leaves the same in memory as what is read piece by piece. */
  readonly readsInOneGo: boolean;
  readonly kernel: KernelRates;
  /** How far the kernel reads ahead of them, bytes. */
  readonly readAhead: number;
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
  return {
    access: isLinux && !isAhead ? 'random' : 'sequential',
    usesPagesAsTheyCome: isAhead,
    readsInOneGo: kind === 'linux',
    kernel,
    readAhead,
  };
}
