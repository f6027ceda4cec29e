import type { SecondsRange } from '../engine/trace/token-figures.ts';

/** Shares of a device's memory with which a range is simulated. Assumed: its spread from run to run hasn't been measured. */
const MEMORY_SHARES = [0.99, 0.995, 1, 1.005, 1.01];

/**
 * The least and the most seconds of a token in simulations in which all devices have up to 1 % less or more memory for
 * weights. If Linux can come to rest at one of several shares of the weights, such small differences decide at which: a
 * single figure would be misleading. Otherwise both ends are nearly the same.
 * @param secondsWith the seconds of a token if devices have this share of their memory
 */
export function secondsRange(secondsWith: (share: number) => number): SecondsRange {
  const seconds = MEMORY_SHARES.map(secondsWith);
  return { least: Math.min(...seconds), most: Math.max(...seconds) };
}
