import { roomForWeights } from '../../engine/cost/reclaim.ts';
import type { LabCell } from './cell.ts';

/** Longest token: Linux pages out what is idle for 20 s. */
const MOST_SECONDS = 18;
/** The throttle's burst, in seconds of its rate, and how many of them the smallest window must exceed. */
export const BURST_SECONDS = 0.1;
export const BURSTS_IN_WINDOW = 3;
/** Rate that four devices together get from the kind of disk that this was measured on, bytes per second. */
export const SHARED_RATE = 2e9;

/**
 * Least memory for weights, bytes: while a process starts, it takes up to 12 MiB more than later, and a page fault reads 8
 * MiB ahead.
 */
const LEAST_MEMORY = 32 * 2 ** 20;

export interface Ground {
  /** Bytes of the model's layer. */
  readonly layerBytes: number;
  /** Rate that the disk gives to all devices together, bytes per second. */
  readonly sharedRate: number;
}

/**
 * Whether a lab can emulate a cell: tokens are short enough, no window is so small that the throttle's bursts determine
 * its time, memories exceed what processes take for a moment, and devices that read at the same time share no more than
 * the disk gives.
 */
export function canBeJudged(cell: LabCell, { layerBytes, sharedRate }: Ground): boolean {
  const { rounds, windows, policy, memoryShares, diskRates } = cell;
  const { prefetch } = policy;
  const windowBytes = windows.map((layers) => layers * layerBytes);
  const rateOf = (index: number): number => diskRates[index] as number;
  const exceedsBursts = windowBytes.every((bytes, index) => bytes >= BURSTS_IN_WINDOW * BURST_SECONDS * rateOf(index));
  const exceedsStart = windowBytes.every(
    (bytes, index) => (memoryShares[index] as number) * rounds * bytes >= LEAST_MEMORY,
  );
  // Populating disables readahead: a window that doesn't fit evicts itself and is then read page by page, for minutes.
  const fits = windowBytes.every((bytes, index) => {
    const mapped = rounds * bytes;
    return bytes <= roomForWeights((memoryShares[index] as number) * mapped, mapped);
  });
  const twice = prefetch !== 'none' && rounds === 1 ? 2 : 1;
  const token = sum(windowBytes.map((bytes, index) => (twice * rounds * bytes) / rateOf(index)));
  // Devices that prefetch read at the same time; without prefetching only one reads.
  const together = prefetch === 'none' ? Math.max(...diskRates) : sum(diskRates);
  return (
    exceedsBursts && exceedsStart && (prefetch !== 'populate' || fits) && token < MOST_SECONDS && together <= sharedRate
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
