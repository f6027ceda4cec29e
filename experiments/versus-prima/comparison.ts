import { formatDeviation, formatSeconds, threeDigits } from '../../engine/input/format.ts';
import type { CellResult } from '../lab/run-cells.ts';
import type { Way } from './ways.ts';

/** A way, and the answers for it. */
export interface WayResult {
  readonly way: Way;
  readonly result: CellResult;
}

/** @param results in the order of the ways */
export function wayResults(ways: readonly Way[], results: readonly CellResult[]): WayResult[] {
  return ways.map((way, index) => ({ way, result: results[index] as CellResult }));
}

/** Aims: how many times faster pinning is, and how close to the time of the disks alone, as a share. */
export const AIMS = { overPrima: 2, overLlama: 6, disk: 0.1 };

/** R/d: seconds that a disk takes to read what a token needs; the mean of the devices. */
export function diskSeconds({ measured, diskRates }: Pick<CellResult, 'measured' | 'diskRates'>): number {
  const rate = diskRates.reduce((sum, one) => sum + one, 0) / diskRates.length;
  return measured.bytes / diskRates.length / rate;
}

/** Speed-up of the last policy, pinning, over each of the others, in their order. */
export function speedups(results: readonly WayResult[]): number[] {
  const pinned = results.at(-1)?.result.measured.seconds ?? Number.NaN;
  return results.slice(0, -1).map(({ result }) => result.measured.seconds / pinned);
}

/** How pinning compares with the other ways and with the disks, in sentences. */
export function findings(results: readonly WayResult[]): string[] {
  const last = results.at(-1);
  if (last === undefined) return [];
  const gains = speedups(results).map(
    (factor, index) => `${threeDigits(factor)} times as fast as ${results[index]?.way.name}`,
  );
  const { measured } = last.result;
  const toDisk = formatDeviation(measured.seconds / diskSeconds(last.result));
  return [
    `Pinned, a token takes ${formatSeconds(measured.seconds)}: ${gains.join(', ')}.`,
    `The disks alone take ${formatSeconds(diskSeconds(last.result))} for what it reads; the token’s deviation from that is ${toDisk}.`,
    `Aims: at least ${AIMS.overPrima} times as fast as prima.cpp’s way, ${AIMS.overLlama} times as llama.cpp’s, and ` +
      `within ${100 * AIMS.disk} % of the disks’ time.`,
  ];
}
