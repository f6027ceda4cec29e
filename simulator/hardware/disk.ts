import { type Device, reloadRate } from '../../engine/hardware/device.ts';
import { type Effect, holdUntil } from '../event-loop/effect.ts';
import { createSharedRate } from '../event-loop/shared-rate.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { Access } from '../page-cache/policies.ts';

/** A device's disk, which page faults and prefetching share. */
export interface Disk {
  readonly name: string;
  /** Reads this many bytes. A throttled disk reads in the order of these calls, no matter when they are waited for. */
  read(bytes: number, access: Access): Effect<void>;
  /** Seconds, until now, in which something was being read. */
  busySeconds(): number;
}

/** How Linux holds a disk to a device's rate (blkio, io.max; block/blk-throttle.c). */
export interface DiskThrottle {
  /**
   * Length of a slice, seconds: LINUX_SLICE_SECONDS in Linux. Each slice lets through what the rate allows in one.
   */
  readonly sliceSeconds: number;
  /** Rate of the disk behind the throttle, bytes per second. */
  readonly diskRate: number;
}

/**
 * Reads under way share the disk's time equally. A sequential read moves s_m^disk bytes per second of it (prima.cpp
 * Eqs. 15–17: the random rate on macOS, whose page faults are random); a random read moves the disk's random rate.
 * @param throttle `undefined`: the device's rate is the disk's own; otherwise it is the throttle's, and reads queue for
 *   it
 */
export function createDisk(simulation: Simulation, device: Device, throttle?: DiskThrottle): Disk {
  const name = `${device.name}’s disk`;
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

/** Lets reads through in the order of their requests. */
export interface ThrottledReads {
  /**
   * The time at which a read that is requested now will end.
   * @param diskRate rate at which the disk behind the throttle reads it, bytes per second
   */
  end(now: number, bytes: number, diskRate: number): number;
  /** Seconds, until now, in which something was being read or waited to be read. */
  busySeconds(now: number): number;
}

/** Number of slices whose unused allowance can be used later. */
const SLICES_KEPT = 1;

/**
 * Slices begin with the first read after a pause and follow each other while reads go on. At the beginning of each
 * slice, what the rate allows in one passes at once, as fast as the disk goes; the rest waits for the next. Measured on
 * Linux 6.18, 400 MB/s after a pause: 40 MB within 0.04 s, nothing until 0.1 s, 40 MB more, and so on; 1 GiB in 2.70 s.
 * So a throttle is ahead of its rate by up to a slice after every pause, and never behind it.
 * @param rate of the throttle, bytes per second
 */
export function createThrottledReads(rate: number, sliceSeconds: number): ThrottledReads {
  const sliceBytes = rate * sliceSeconds;
  /** When the first slice began, and the bytes that have been requested since. */
  let start = Number.NEGATIVE_INFINITY;
  let requested = 0;
  /** When everything that was requested will have been read. */
  let free = Number.NEGATIVE_INFINITY;
  let busy = 0;
  return {
    end: (now, bytes, diskRate) => {
      const begin = Math.max(now, free);
      if (now > free + sliceSeconds) {
        start = now;
        requested = 0;
      }
      const past = Math.floor((now - start) / sliceSeconds);
      requested = Math.max(requested, (past - SLICES_KEPT) * sliceBytes);
      free = begin;
      let left = bytes;
      for (let slice = Math.floor(requested / sliceBytes); left > 0; slice++) {
        const passing = Math.max(0, Math.min(left, (slice + 1) * sliceBytes - requested));
        free = Math.max(free, start + slice * sliceSeconds) + passing / diskRate;
        requested += passing;
        left -= passing;
      }
      busy += free - begin;
      return free;
    },
    busySeconds: (now) => busy - Math.max(0, free - now),
  };
}
