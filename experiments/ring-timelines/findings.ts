import { formatBytes, formatPercent, formatSeconds, threeDigits } from '../../engine/terminal/format.ts';
import type { TimelineResult } from './run.ts';

/** What is to be seen in a panel, in one line with its own numbers. */
export function finding(results: readonly TimelineResult[], result: TimelineResult): string {
  const of = (key: TimelineResult['key']): TimelineResult => results.find((one) => one.key === key) as TimelineResult;
  const { tokenSeconds, stallSeconds, readBytes, idleSeconds } = result;
  const against = (other: TimelineResult): string =>
    `${threeDigits(tokenSeconds / other.tokenSeconds)} times the TPOT of (${other.key})`;
  switch (result.key) {
    case 'a':
      return `Look for hatching: computations wait ${formatSeconds(stallSeconds)} per token for the disk, although ${formatBytes(readBytes)} are read; green fills the others' turns.`;
    case 'b':
      return `Look at one device: disk and processor take turns, and ${formatSeconds(idleSeconds)} of a token is white; what prefetching doesn't hide is waited for, ${formatSeconds(stallSeconds)} per token against ${formatSeconds(of('b, PP').stallSeconds)} in PP without prefetching.`;
    case 'c':
      return `Look at device 4: everybody waits for its slow disk, ${formatSeconds(stallSeconds)} per token in all; the other disks have long been done, and ${formatSeconds(idleSeconds)} of white remain.`;
    case 'd':
      return `Look at the stairs: one device after the other reads all its layers while the token waits, ${formatPercent(stallSeconds / tokenSeconds)} of the time.`;
    case 'e':
      return `Look at green and orange on every disk: each layer is prefetched, dropped for a later one, and read again: ${threeDigits(readBytes / of('d').readBytes)} times the bytes of (d), ${against(of('d'))}.`;
    case 'f':
      return `Look at device 4 again: with half the layers it waits less than in (c), ${formatSeconds(stallSeconds)} per token, and less is white: ${formatSeconds(idleSeconds)}; ${against(of('c'))}.`;
    case 'b, PP':
      return `Vanilla PP on the devices of (b): computations wait ${formatSeconds(stallSeconds)} per token.`;
  }
}
