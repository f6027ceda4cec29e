import type { NativeAddon } from '../kernels/native/addon.ts';
import { type Sample, sampleOf } from './sample.ts';

export interface DiskMeasures {
  /** Bytes per second. */
  readonly sequential: Sample;
  readonly random: Sample;
  /** Largest share of the file that the system kept in memory although it was asked to drop it, 0 to 1. */
  readonly resident: number;
}

/** Half a second of a fast disk; more than what disks keep in memory of their own would take too long. */
const READ_BYTES = 256 * 2 ** 20;
/** A tenth of a second of a fast disk, a second of a slow one. */
const FAULTS = 1000;
const PAGE_BYTES = 4096;
const REPEATS = 5;
/** A slow disk is measured less often. */
const PATIENCE_SECONDS = 8;

/**
 * Reads a file sequentially, and single pages at random, each time after the system was asked to drop it from memory.
 * @param path a file that no process maps
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
    if (repeat > 0 && (performance.now() - start) / 1000 > PATIENCE_SECONDS) break;
    onRepeat(repeat + 1);
    resident = Math.max(resident, addon.dropFromMemory(path));
    const size = Math.min(READ_BYTES, bytes);
    sequential.push(size / addon.readInOrder(path, (repeat % 2) * (bytes - size), size));
    resident = Math.max(resident, addon.dropFromMemory(path));
    random.push((FAULTS * PAGE_BYTES) / addon.faultPages(path, FAULTS, repeat + 1));
  }
  return { sequential: sampleOf(sequential), random: sampleOf(random), resident };
}
