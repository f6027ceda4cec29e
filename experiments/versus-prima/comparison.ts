import { formatDeviation, formatSeconds, threeDigits } from '../../engine/terminal/format.ts';
import type { CellResult } from '../lab/run-cell.ts';
import type { Way } from './ways.ts';

/** A way, carried out. */
export interface WayResult {
  readonly way: Way;
  readonly result: CellResult;
}

/** What is aimed at: how much faster pinning is, and how near to the disk's own time. */
export const AIMS = { overPrima: 2, overLlama: 6, disk: 0.1 };

/** R/d: seconds that a device's disk takes for what it reads for a token; the devices' mean. */
export function diskSeconds({ measured, diskRates }: Pick<CellResult, 'measured' | 'diskRates'>): number {
  const rate = diskRates.reduce((sum, one) => sum + one, 0) / diskRates.length;
  return measured.bytes / diskRates.length / rate;
}

/** How many times faster the last way, pinning, is than each of the others. */
export function speedups(results: readonly WayResult[]): number[] {
  const pinned = results.at(-1)?.result.measured.seconds ?? Number.NaN;
  return results.slice(0, -1).map(({ result }) => result.measured.seconds / pinned);
}

/** What came out, in a paragraph. */
export function findings(results: readonly WayResult[]): string {
  const last = results.at(-1);
  if (last === undefined) return '';
  const gains = speedups(results).map(
    (factor, index) => `${threeDigits(factor)} times as fast as ${results[index]?.way.name}`,
  );
  const { measured } = last.result;
  const toDisk = formatDeviation(measured.seconds / diskSeconds(last.result));
  return (
    `Pinned, a token takes ${formatSeconds(measured.seconds)}: ${gains.join(', ')}. Its disks alone take ` +
    `${formatSeconds(diskSeconds(last.result))} for what it reads, from which it is ${toDisk}. Aims: at least ` +
    `${AIMS.overPrima} times as fast as prima.cpp's way, ${AIMS.overLlama} times as llama.cpp's, and within ` +
    `${100 * AIMS.disk} % of the disks' time.`
  );
}
