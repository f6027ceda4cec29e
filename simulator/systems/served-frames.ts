import { isFollowed, mostFrames } from '../../engine/batch/pass-frames.ts';
import type { PassLoad } from '../../engine/cost/mixed-pass.ts';
import type { Steps } from '../event-loop/effect.ts';
import { createMailbox, type Mailbox } from '../event-loop/mailbox.ts';
import { createOneShot, type OneShot } from '../event-loop/one-shot.ts';
import { leaveStop, lookUp, type OpenRing, runPass, runStop, sendActivations } from './ring.ts';
import type { RingDevice } from './ring-device.ts';
import { createServedPass } from './ring-pass.ts';

/**
 * A server's pass around the ring in frames, each of which enters as soon as the head has time for it: devices work on
 * different ones at once, each on one at a time, in the order in which they come.
 * @param loads of the frames
 */
export function* runFrames(ring: OpenRing, loads: readonly PassLoad[]): Steps {
  const [first, ...others] = loads;
  if (first === undefined) return;
  if (others.length === 0) {
    yield* runPass(ring, createServedPass(ring, first));
    return;
  }
  const { simulation, devices, path } = ring;
  const turns = new Map([...devices.keys()].map((name) => [name, createTurns()]));
  const windows = path.stops.filter(({ stages }) => stages.length > 0).length;
  const room = createMailbox<undefined>(simulation, { name: 'frames in the ring', capacity: mostFrames(windows) });
  const frames = loads.map((load, index) => {
    const name = `frame ${index + 1} of ${loads.length}`;
    return simulation.spawn(
      name,
      runFrame(ring, { load, isFollowed: isFollowed(index, loads.length, windows), turns, room }),
    );
  });
  for (const frame of frames) yield frame.join();
}

interface FrameCase {
  readonly load: PassLoad;
  /** Whether another frame follows, for which devices keep their weights. */
  readonly isFollowed: boolean;
  /** By device. */
  readonly turns: ReadonlyMap<string, Turns>;
  /** Has an item for every frame in the ring. */
  readonly room: Mailbox<undefined>;
}

function* runFrame(ring: OpenRing, { load, isFollowed: keeps, turns, room }: FrameCase): Steps {
  const { devices, head, path } = ring;
  const pass = createServedPass(ring, load);
  yield room.put(undefined);
  let at = head;
  for (const [index, stop] of path.stops.entries()) {
    const device = devices.get(stop.device) as RingDevice;
    const own = turns.get(stop.device) as Turns;
    yield* sendActivations(ring, pass, at, device);
    at = device;
    // The frame has gone through all windows.
    if (stop.output) yield room.take();
    yield* own.take(index);
    // The head embeds a frame's tokens where it enters.
    if (index === 0) for (let token = 0; token < pass.tokens; token++) yield* lookUp(device);
    yield* runStop(ring, pass, device, stop);
    if (!keeps) leaveStop(device, stop, path.next[index] ?? []);
    own.give();
  }
}

/** A device's work on one frame after the other. */
interface Turns {
  /** Waits until all frames that came before have left. */
  take(stop: number): Steps;
  give(): void;
}

function createTurns(): Turns {
  const waiting: OneShot<void>[] = [];
  let isTaken = false;
  return {
    *take(stop) {
      if (!isTaken) {
        isTaken = true;
        return;
      }
      const begins = createOneShot(`stop ${stop}`);
      waiting.push(begins);
      yield begins.wait();
    },
    give() {
      const first = waiting.shift();
      if (first === undefined) isTaken = false;
      else first.succeed();
    },
  };
}
