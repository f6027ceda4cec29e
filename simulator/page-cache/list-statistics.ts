import type { CacheState } from './state.ts';

/** How often the statistics of all cgroups are brought up to date (FLUSH_TIME, mm/memcontrol.c). */
const PERIOD_SECONDS = 2;

/** What reclaim knows of the lists' lengths: not what they are, but what they were when they were last counted. */
export interface ListStatistics {
  /** Extents of the active list. */
  readonly activeExtents: number;
  readonly isActiveLonger: boolean;
  /** The lists are about to change. @param reclaims for lack of memory */
  beforeChange(reclaims: boolean): void;
}

/**
 * Counts the lists every two seconds of a clock.
 * @param now undefined: there is no clock, and they are counted whenever reclaim begins
 */
export function createListStatistics(
  { lists: { inactive, active, reading }, extentBytes }: Pick<CacheState, 'lists' | 'extentBytes'>,
  now: (() => number) | undefined,
): ListStatistics {
  let period = Number.NEGATIVE_INFINITY;
  const statistics = {
    activeExtents: 0,
    isActiveLonger: false,
    beforeChange: (reclaims: boolean): void => {
      const current = now === undefined ? period : Math.floor(now() / PERIOD_SECONDS);
      if (current === period && !(now === undefined && reclaims)) return;
      period = current;
      statistics.activeExtents = active.bytes / extentBytes;
      statistics.isActiveLonger = active.bytes > inactive.bytes + reading.bytes;
    },
  };
  return statistics;
}
