import { formatSeconds } from '../../input/format.ts';
import type { AwaitedDevices } from './sent-frames.ts';

/** Seconds without a frame after which the head names the device that it waits for; and again whenever it has waited twice as long. */
const FIRST = 3;
const GROWTH = 2;

/**
 * Names the device that a ring waits for: one that computes slowly, or never answers. Devices that need
 * longer for every frame are named once: the next wait is told when it is twice as long as the last one that ended.
 */
export function createPatience(log: (line: string) => void): (awaited: AwaitedDevices | undefined) => void {
  let limit = FIRST;
  let waited = 0;
  return (awaited) => {
    const seconds = awaited?.seconds ?? 0;
    if (seconds < waited) limit = Math.max(FIRST, GROWTH * waited);
    waited = seconds;
    if (awaited === undefined || seconds < limit) return;
    log(`waits for ${awaited.devices.join(', ')}: no result for ${formatSeconds(seconds)}`);
    limit = GROWTH * seconds;
  };
}
