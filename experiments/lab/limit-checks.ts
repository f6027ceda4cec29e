import { formatBytes, formatDeviation, formatPercent } from '../../engine/terminal/format.ts';
import type { CellResult } from './run-cell.ts';

/** Whether a lab kept to its own limits, and by how much. */
export interface LimitChecks {
  /** Largest part of its limit that any device took at its peak: at most 1 where memory was held. */
  readonly memoryPeak: number;
  /** What the throttle let through over what it was set to, where that is furthest from 1. */
  readonly diskRatio: number;
  /** For people. */
  readonly text: string;
}

/** What a throttle may be off by. */
const DISK_TOLERANCE = 0.05;

/** @param results at least one */
export function limitChecks(results: readonly Pick<CellResult, 'cell' | 'devices' | 'diskRates'>[]): LimitChecks {
  const devices = results.flatMap((result) => result.devices);
  const fullest = devices.reduce((most, one) => (share(one) > share(most) ? one : most));
  const ratios = results.flatMap(({ cell, diskRates }) =>
    diskRates.map((rate, index) => rate / (cell.diskRates[index] as number)),
  );
  const diskRatio = ratios.reduce((worst, one) => (Math.abs(one - 1) > Math.abs(worst - 1) ? one : worst));
  const memory =
    share(fullest) <= 1
      ? `memory was held: at most ${formatPercent(share(fullest))} of a limit was taken (${formatBytes(fullest.peakBytes)} on ${fullest.device})`
      : `memory was NOT held: ${formatBytes(fullest.peakBytes)} of ${formatBytes(fullest.limitBytes)} on ${fullest.device}`;
  const disk = `disks ${Math.abs(diskRatio - 1) <= DISK_TOLERANCE ? 'were held' : 'were NOT held'}: ${formatDeviation(diskRatio)} of the throttle at worst`;
  return { memoryPeak: share(fullest), diskRatio, text: `${memory}; ${disk}` };
}

function share({ peakBytes, limitBytes }: CellResult['devices'][number]): number {
  return peakBytes / limitBytes;
}
