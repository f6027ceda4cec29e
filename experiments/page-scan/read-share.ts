/** Seconds of a file's extents, or seconds a byte, in the order in which a scan used them. */
export type ExtentSeconds = readonly number[];

/** A disk must be this many times as slow as memory for times to tell one from the other. */
const CLEARLY_SLOWER = 2;
/** Share of the slowest uses whose median stands for the disk. */
const SLOWEST = 0.1;

/**
 * Share of each scan's extents that came from the disk, judged by time alone: those that took longer than the geometric
 * mean of the fastest use of all scans and of the median of the slowest tenth. `undefined` where these two are within a
 * factor of two: then all came from memory or all from the disk, and times can't tell which.
 */
export function readBySeconds(scans: readonly ExtentSeconds[]): number[] | undefined {
  const sorted = scans.flat().sort((one, other) => one - other);
  const slowest = sorted.slice(Math.floor((1 - SLOWEST) * sorted.length));
  const [memory, disk] = [sorted[0] ?? 0, slowest[slowest.length >> 1] ?? 0];
  if (disk < CLEARLY_SLOWER * memory) return undefined;
  const limit = Math.sqrt(memory * disk);
  return scans.map((scan) => scan.filter((seconds) => seconds > limit).length / scan.length);
}
