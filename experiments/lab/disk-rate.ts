import { execFileSync } from 'node:child_process';
import type { DeviceGroup } from './cgroups/device-group.ts';

/** Seconds of reading: the throttle lets a tenth of a second's bytes through at once after a pause, and that is a part of it. */
const SECONDS = 3;
const BLOCK_BYTES = 2 ** 20;

/** A probe that a busy machine kept waiting finds too little, and never too much: it is repeated, and the best one taken. */
const ATTEMPTS = 3;
const GOOD_SHARE = 0.98;

/**
 * The rate at which a process in a group reads a file, past the page cache (O_DIRECT), bytes per second: what the group's
 * throttle really lets through. The file is read again from its beginning as often as needed.
 * @param aim what the throttle is set to
 */
export function measureDiskRate(group: DeviceGroup, file: string, fileBytes: number, aim: number): number {
  let best = 0;
  for (let attempt = 0; attempt < ATTEMPTS && best < GOOD_SHARE * aim; attempt++)
    best = Math.max(best, readRate(group, file, fileBytes, aim));
  return best;
}

function readRate(group: DeviceGroup, file: string, fileBytes: number, aim: number): number {
  const blocks = Math.max(1, Math.min(Math.floor(fileBytes / BLOCK_BYTES), Math.round((SECONDS * aim) / BLOCK_BYTES)));
  const repeats = Math.max(1, Math.round((SECONDS * aim) / (blocks * BLOCK_BYTES)));
  const joins = group.joins.map((path) => `echo $$ > ${path}`).join(' && ');
  const read = `dd if="$1" of=/dev/null bs=${BLOCK_BYTES} count=${blocks} iflag=direct 2>&1 | tail -n 1`;
  // The first read spends what the throttle has saved up.
  const script = `${joins} && ${Array.from({ length: repeats + 1 }, () => read).join(' && ')}`;
  const lines = execFileSync('sh', ['-c', script, 'sh', file], { encoding: 'utf8' }).trim().split('\n').slice(1);
  const seconds = lines.map((line) => Number(/, ([\d.e-]+) s,/.exec(line)?.[1]));
  return (repeats * blocks * BLOCK_BYTES) / seconds.reduce((sum, one) => sum + one, 0);
}
