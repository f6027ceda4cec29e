import { formatSeconds } from '../../input/format.ts';
import type { AwaitedDevices } from './sent-frames.ts';

/** Seconds without a frame after which the head says whom it waits for; each time it says so, twice as many the next. */
const FIRST = 3;
const GROWTH = 2;

/** Says whom a ring waits for, so that a device that computes slowly, or never answers, is known by name. */
export function createPatience(log: (line: string) => void): (awaited: AwaitedDevices | undefined) => void {
  let limit = FIRST;
  return (awaited) => {
    if (awaited === undefined || awaited.seconds < limit) return;
    log(`waits for ${awaited.devices.join(', ')}: no result for ${formatSeconds(awaited.seconds)}`);
    limit = GROWTH * awaited.seconds;
  };
}
