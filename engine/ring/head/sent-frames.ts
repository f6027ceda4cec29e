import { isDeepStrictEqual } from 'node:util';
import type { Window } from '../../plan/windows.ts';
import type { WindowRun } from '../device/window-runner.ts';
import { FrameError } from '../wire/frame-error.ts';

/** Devices that have a frame which the head waits for. */
export interface AwaitedDevices {
  readonly devices: readonly string[];
  /** Seconds since a frame came back from them, or since the frame was sent if that is less. */
  readonly seconds: number;
}

/** The frames that the head has sent and not got back, which bounds what other devices can make it keep. */
export interface SentFrames {
  /** Notes a frame that is sent to a window of another device. */
  sent(frame: WindowRun): void;
  /**
   * Checks that a frame for one of the head's windows, or the output, is the oldest that was sent on the way there.
   * @throws FrameError for any other one
   */
  returned(frame: WindowRun): void;
  /** Devices that have been waited for the longest; `undefined` while no frame is on its way. */
  awaited(): AwaitedDevices | undefined;
}

/** Frames on their way through other devices' windows, which are the same for all of them. */
interface Way {
  readonly devices: readonly string[];
  /** The oldest first. */
  readonly frames: { readonly frame: WindowRun; readonly sentAt: number }[];
  returnedAt: number;
}

/** @param clock seconds */
export function createSentFrames(head: string, windows: readonly Window[], clock: () => number): SentFrames {
  /** By the window at which they come back; the number of windows stands for the output. */
  const ways = new Map<number, Way>();
  const endOf = (window: number): number => {
    const end = windows.findIndex(({ device }, index) => index > window && device === head);
    return end < 0 ? windows.length : end;
  };
  return {
    sent(frame) {
      const end = endOf(frame.window);
      const devices = [...new Set(windows.slice(frame.window, end).map(({ device }) => device))];
      const way = ways.get(end) ?? { devices, frames: [], returnedAt: 0 };
      ways.set(end, way);
      way.frames.push({ frame, sentAt: clock() });
    },
    returned(frame) {
      const way = ways.get(frame.window);
      const oldest = way?.frames[0];
      if (way === undefined || oldest === undefined)
        throw new FrameError(`frame ${frame.number} for window ${frame.window}, while none is on its way there`);
      const other = CARRIED.find((part) => !isDeepStrictEqual(frame[part], oldest.frame[part]));
      if (other !== undefined)
        throw new FrameError(
          `frame ${frame.number} for window ${frame.window}, whose ${other} is not that of frame ${oldest.frame.number}, which was sent there`,
        );
      way.frames.shift();
      way.returnedAt = clock();
    },
    awaited() {
      const now = clock();
      const waits = [...ways.values()].flatMap(({ devices, frames: [oldest], returnedAt }): AwaitedDevices[] =>
        oldest === undefined ? [] : [{ devices, seconds: now - Math.max(oldest.sentAt, returnedAt) }],
      );
      return waits.sort((a, b) => b.seconds - a.seconds)[0];
    },
  };
}

/** Fields that a frame carries unchanged through all windows; only its activations change. */
const CARRIED = ['number', 'copies', 'segments', 'isFollowed'] as const;
