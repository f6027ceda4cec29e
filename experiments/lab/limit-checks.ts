import { formatBytes, formatDeviation, formatPercent } from '../../engine/input/format.ts';
import type { CellResult } from './run-cells.ts';

/** Whether a lab kept to its own limits. */
export interface LimitChecks {
  /** Largest peak of a device's memory, as a share of its limit; at most 1 where memory was held. */
  readonly memoryPeak: number;
  /** Rate that a throttle let through over the rate it was set to; of all throttles, the ratio furthest from 1. */
  readonly diskRatio: number;
  /** Both checks in words. */
  readonly text: string;
}

/** Deviation of a throttle that counts as held. */
const DISK_TOLERANCE = 0.05;

/** @param results at least one */
export function limitChecks(results: readonly Pick<CellResult, 'cell' | 'devices' | 'diskRates'>[]): LimitChecks {
  const devices = results.flatMap((result) => result.devices);
  const fullest = devices.reduce((most, one) => (peakShare(one) > peakShare(most) ? one : most));
  const ratios = results.flatMap(({ cell, diskRates }) =>
    diskRates.map((rate, index) => rate / (cell.diskRates[index] as number)),
  );
  const diskRatio = ratios.reduce((worst, one) => (Math.abs(one - 1) > Math.abs(worst - 1) ? one : worst));
  const memoryPeak = peakShare(fullest);
  const peak = formatBytes(fullest.peakBytes);
  const memory =
    memoryPeak <= 1
      ? `memory was held: at most ${formatPercent(memoryPeak)} of a limit was taken (${peak} on ${fullest.device})`
      : `memory was NOT held: ${peak} of ${formatBytes(fullest.limitBytes)} on ${fullest.device}`;
  const held = Math.abs(diskRatio - 1) <= DISK_TOLERANCE ? 'were held' : 'were NOT held';
  const disk = `disks ${held}: ${formatDeviation(diskRatio)} of the throttle at worst`;
  return { memoryPeak, diskRatio, text: `${memory}; ${disk}` };
}

function peakShare({ peakBytes, limitBytes }: CellResult['devices'][number]): number {
  return peakBytes / limitBytes;
}
