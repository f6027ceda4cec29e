import type { NativeAddon } from '../kernels/native/addon.ts';
import { type Sample, sampleOf } from './sample.ts';

export interface DiskMeasures {
  /** Bytes per second. */
  readonly sequential: Sample;
  readonly random: Sample;
  /** Largest share of the file that the system kept in memory after it was asked to drop it, 0 to 1. */
  readonly resident: number;
}

/** About half a second on a fast disk; exceeding a disk's own cache would take too long. */
const READ_BYTES = 256 * 2 ** 20;
/** About 0.1 s on a fast disk, 1 s on a slow one. */
const FAULTS = 1000;
const PAGE_BYTES = 4096;
const REPEATS = 5;
/** No repetition begins after this time, so a slow disk is measured fewer times. */
const MOST_SECONDS = 8;

/**
 * Measures sequential reads of a file and page faults at random. Before each, the system is asked to drop the file from
 * memory.
 * @param path a file that no process has mapped
 * @param bytes its size
 */
export function measureDisk(
  addon: NativeAddon,
  path: string,
  bytes: number,
  onRepeat: (count: number) => void,
): DiskMeasures {
  const [sequential, random]: [number[], number[]] = [[], []];
  let resident = 0;
  const start = performance.now();
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    if (repeat > 0 && (performance.now() - start) / 1000 > MOST_SECONDS) break;
    onRepeat(repeat + 1);
    resident = Math.max(resident, addon.dropFromMemory(path));
    const size = Math.min(READ_BYTES, bytes);
    sequential.push(size / addon.readInOrder(path, (repeat % 2) * (bytes - size), size));
    resident = Math.max(resident, addon.dropFromMemory(path));
    random.push((FAULTS * PAGE_BYTES) / addon.faultPages(path, FAULTS, repeat + 1));
  }
  readAnew(addon, path, bytes);
  return { sequential: sampleOf(sequential), random: sampleOf(random), resident };
}

/**
 * Reads a file from the disk in order, as models are read. Linux keeps what was written piece by piece, or faulted in page by
 * page, in smaller pages than that: one thread reads weights from them by a tenth to a third more slowly.
 */
export function readAnew(
  addon: Pick<NativeAddon, 'dropFromMemory' | 'readInOrder'>,
  path: string,
  bytes: number,
): void {
  addon.dropFromMemory(path);
  addon.readInOrder(path, 0, bytes);
}
