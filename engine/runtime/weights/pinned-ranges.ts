import type { ByteRange } from '../../kernels/file-pages.ts';
import { totalBytes } from './byte-ranges.ts';
import type { WeightsLayout, WeightsPart } from './weights-layout.ts';

/** Granularity of prefixes in bytes: as large as the page cache's folios, so that the rest can be dropped. */
const EXTENT_BYTES = 2 ** 21;

/**
 * The pinned parts of a device's weights: first the output layer as far as the bytes suffice, then equal shares of a
 * prefix of every window (simulator/systems/ring-device.ts does the same).
 * @param windows the device's windows in order
 * @param bytes total of all ranges; a remainder from rounding a prefix down to whole extents goes to the next window
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
