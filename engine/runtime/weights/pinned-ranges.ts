import type { ByteRange } from '../../kernels/file-pages.ts';
import { totalBytes } from './byte-ranges.ts';
import type { WeightsLayout, WeightsPart } from './weights-layout.ts';

/** The granularity of prefixes, bytes: as large as the page cache's folios become, so that dropping the rest works. */
const EXTENT_BYTES = 2 ** 21;

/**
 * The parts of a device's weights that stay in memory for good: as much of the output layer as there are bytes for, then a prefix
 * of every window, of equal shares (simulator/systems/ring-device.ts does the same).
 * @param windows the device's windows, in the order of their turns
 * @param bytes total of all ranges; what the windows' prefixes round down to whole extents is made up by the next
 */
export function pinnedRanges(
  layout: WeightsLayout,
  windows: readonly (readonly WeightsPart[])[],
  bytes: number,
): ByteRange[] {
  const has = (wanted: boolean) => (part: WeightsPart) => (part === 'output') === wanted;
  const output = windows.flat().filter(has(true)).slice(0, 1);
  const outputRanges = output.flatMap((part) => layout.ranges(part));
  const rest = windows.map((parts) => parts.filter(has(false)).flatMap((part) => layout.ranges(part)));
  const left = Math.max(0, bytes - totalBytes(outputRanges));
  const total = totalBytes(rest.flat());
  const pinned = prefix(outputRanges, bytes);
  if (left >= total) return [...pinned, ...rest.flat()];
  let due = 0;
  for (const ranges of rest) {
    due += (totalBytes(ranges) * left) / total;
    const whole = Math.floor(due / EXTENT_BYTES) * EXTENT_BYTES;
    pinned.push(...prefix(ranges, whole));
    due -= Math.min(whole, totalBytes(ranges));
  }
  return pinned;
}

/** The first `bytes` of some ranges. */
function prefix(ranges: readonly ByteRange[], bytes: number): ByteRange[] {
  let left = bytes;
  return ranges.flatMap(({ from, to }) => {
    const taken = Math.max(0, Math.min(to - from, left));
    left -= taken;
    return taken === 0 ? [] : [{ from, to: from + taken }];
  });
}
