import type { DiskReads } from '../../engine/hardware/disk-reads.ts';
import { hold, holdUntil, type Steps } from '../event-loop/effect.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import { createThrottledReads, type DiskThrottle } from './disk.ts';

/** A disk whose reads wait for their bytes together and get them one after the other (engine/hardware/disk-reads.ts). */
export interface ReadBus {
  /** Waits for the latency, then for the bytes, behind those of reads that were ready before. */
  read(latency: number, bytes: number): Steps;
  /** The end of a read that is ready for its bytes at a time, which is no earlier than that of the read before. */
  arrival(ready: number, bytes: number): number;
  /** Seconds, until now, in which bytes came. */
  busySeconds(): number;
}

/** @param throttle in front of the disk; its rate is the disk's `bandwidth` then */
export function createReadBus(simulation: Simulation, { bandwidth }: DiskReads, throttle?: DiskThrottle): ReadBus {
  let free = 0;
  let busy = 0;
  const limit = throttle && createThrottledReads(bandwidth, throttle.sliceSeconds);
  const arrival = (ready: number, bytes: number): number => {
    if (limit !== undefined) return limit.end(ready, bytes, throttle?.diskRate ?? bandwidth);
    const seconds = bytes / bandwidth;
    busy += seconds;
    free = Math.max(ready, free) + seconds;
    return free;
  };
  return {
    arrival,
    *read(latency, bytes) {
      if (latency > 0) yield hold(latency);
      if (bytes > 0) yield holdUntil(arrival(simulation.now, bytes));
    },
    busySeconds: () => limit?.busySeconds(simulation.now) ?? busy - Math.max(0, free - simulation.now),
  };
}

/** A read that was requested of lanes. */
export interface LaneRead {
  readonly done: OneShot<void>;
  /** Drops it if it waits for a lane; `done` isn't called then. */
  cancel(): void;
}

/** A limited number of reads at once; the others wait in the order of their requests. */
export interface ReadLanes {
  /** Requests a read, whose steps a lane goes through. */
  request(steps: () => Steps): LaneRead;
  /** Reads that are under way or wait. */
  readonly pending: number;
}

export function createReadLanes(simulation: Simulation, depth: number): ReadLanes {
  interface Waiting {
    readonly steps: () => Steps;
    readonly done: OneShot<void>;
  }
  const waiting: Waiting[] = [];
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
      const own = { steps, done: createOneShot<void>('a read of experts') };
      waiting.push(own);
      if (lanes < depth) {
        lanes++;
        simulation.spawn('a lane of reads', lane());
      }
      return {
        done: own.done,
        cancel() {
          const place = waiting.indexOf(own);
          if (place >= 0) waiting.splice(place, 1);
        },
      };
    },
    get pending() {
      return waiting.length + lanes;
    },
  };
}

/** A read whose end is known. */
export interface KnownRead {
  readonly start: number;
  readonly end: number;
  readonly bytes: number;
}

/** Up to `depth` reads at once, all of one latency, of a disk that nothing else reads: their ends are known when requested. */
export function createOwnLanes(
  simulation: Simulation,
  { bus, depth, latency }: { readonly bus: ReadBus; readonly depth: number; readonly latency: number },
): (bytes: number) => KnownRead {
  const free = new Float64Array(depth);
  return (bytes) => {
    let lane = 0;
    for (let other = 1; other < depth; other++) if ((free[other] as number) < (free[lane] as number)) lane = other;
    const start = Math.max(simulation.now, free[lane] as number);
    const end = bus.arrival(start + latency, bytes);
    free[lane] = end;
    return { start, end, bytes };
  };
}
