import type { DiskReads } from '../../engine/hardware/disk-reads.ts';
import { hold, holdUntil, type Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import { createThrottledReads, type DiskThrottle } from './disk.ts';

/** A disk whose reads wait for their bytes together and get them one after the other (engine/hardware/disk-reads.ts). */
export interface ReadBus {
  /** Waits for the latency, then for the bytes, behind those of reads that were ready before. */
  read(latency: number, bytes: number): Steps;
  /** Seconds, until now, in which bytes came. */
  busySeconds(): number;
}

/** @param throttle in front of the disk; its rate is the disk's `bandwidth` then */
export function createReadBus(simulation: Simulation, { bandwidth }: DiskReads, throttle?: DiskThrottle): ReadBus {
  let free = 0;
  let busy = 0;
  const limit = throttle && createThrottledReads(bandwidth, throttle.sliceSeconds);
  const arrival = (bytes: number): number => {
    if (limit !== undefined) return limit.end(simulation.now, bytes, throttle?.diskRate ?? bandwidth);
    const seconds = bytes / bandwidth;
    busy += seconds;
    free = Math.max(simulation.now, free) + seconds;
    return free;
  };
  return {
    *read(latency, bytes) {
      if (latency > 0) yield hold(latency);
      if (bytes > 0) yield holdUntil(arrival(bytes));
    },
    busySeconds: () => limit?.busySeconds(simulation.now) ?? busy - Math.max(0, free - simulation.now),
  };
}

/** A number of reads at once, the others waiting in the order of their requests. */
export interface ReadLanes {
  /** Requests a read, whose steps a lane goes through. */
  request(steps: () => Steps): OneShot<void>;
  /** Reads that are under way or wait. */
  readonly pending: number;
}

export function createReadLanes(simulation: Simulation, depth: number): ReadLanes {
  const waiting: { readonly steps: () => Steps; readonly done: OneShot<void> }[] = [];
  let lanes = 0;
  function* lane(): Steps {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      yield* next.steps();
      next.done.succeed();
    }
    lanes--;
  }
  return {
    request(steps) {
      const done = createOneShot<void>('a read of experts');
      waiting.push({ steps, done });
      if (lanes < depth) {
        lanes++;
        simulation.spawn('a lane of reads', lane());
      }
      return done;
    },
    get pending() {
      return waiting.length + lanes;
    },
  };
}
