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
 * Reads under way share the disk's time equally. A sequential read moves s_m^disk bytes per second of it (prima.cpp
 * Eqs. 15–17: the random rate on macOS, which faults page by page even so); a random one the disk's random rate.
 */
export function createDisk(simulation: Simulation, device: Device): Disk {
  const name = `${device.name}'s disk`;
  const rate = reloadRate(device);
  const time = createSharedRate(simulation, { name, rate });
  const slowdown = { sequential: 1, random: rate / device.disk.random };
  return {
    name,
    read: (bytes, access) => time.transfer(bytes * slowdown[access]),
    usage: () => time.usage(),
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
