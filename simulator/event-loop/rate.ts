import type { Effect } from './effect.ts';
import type { LevelSummary } from './level.ts';

/** A disk or a link: it moves bytes at a rate. How it divides the rate among transfers is what kinds differ in. */
export interface Rate {
  readonly name: string;
  /** Bytes per second. */
  readonly rate: number;
  /**
   * Moves `bytes`. Given up, it leaves moved what is moved; an Interrupt says how many bytes remain.
   * @throws RangeError if the bytes are negative or not finite
   */
  transfer(bytes: number): Effect<void>;
  /**
   * Changes the rate from now on, for transfers under way as well; at 0 they stand still.
   * @throws RangeError if the rate is negative or not finite
   */
  setRate(bytesPerSecond: number): void;
  usage(): RateUsage;
}

/** From the making of the resource until now. */
export interface RateUsage {
  /** Seconds in which there was a transfer, be it at rate 0. */
  readonly busySeconds: number;
  /** Share of the time that was busy. */
  readonly utilisation: number;
  /** Bytes moved, also for transfers that are under way or were given up. */
  readonly bytes: number;
  /** Transfers that came to their end. */
  readonly completed: number;
  /** Transfers that are here, under way or in line. */
  readonly transfers: LevelSummary;
}

export interface RateOptions {
  readonly name: string;
  /** Bytes per second. */
  readonly rate: number;
}
