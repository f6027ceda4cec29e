/** How Linux holds a disk to a device's rate (blkio, io.max; block/blk-throttle.c). */
export interface DiskThrottle {
  /** At the beginning of each slice it lets through what its rate comes to in one, seconds: 0.1 (DFL_THROTL_SLICE). */
  readonly sliceSeconds: number;
  /** Of the disk behind it, bytes per second. */
  readonly diskRate: number;
}

/** Lets reads through in the order in which they are asked for. */
export interface ThrottledReads {
  /**
   * When a read that is asked for now will have ended.
   * @param diskRate at which the disk behind the throttle reads it, bytes per second
   */
  end(now: number, bytes: number, diskRate: number): number;
  /** Seconds, until now, in which something was being read or waited to be. */
  busySeconds(now: number): number;
}

/** Of slices in which less was asked for than was allowed, how many are made up for. */
const SLICES_KEPT = 1;

/**
 * Slices begin with the first read after a pause, and follow each other while reads go on. At the beginning of each, what
 * the rate comes to in one passes at once, as fast as the disk goes; what is more waits for the next. Measured, Linux
 * 6.18, 400 MB/s after a pause: 40 MB within 0.04 s, nothing until 0.1 s, 40 MB more, and so on; 1 GiB in 2.70 s. So a throttle is faster
 * than its rate by up to a slice after every pause, and never slower.
 * @param rate of the throttle, bytes per second
 */
export function createThrottledReads(rate: number, sliceSeconds: number): ThrottledReads {
  const sliceBytes = rate * sliceSeconds;
  /** When the first slice began, and what has been asked for since. */
  let start = Number.NEGATIVE_INFINITY;
  let asked = 0;
  /** When all that was asked for will have been read. */
  let free = Number.NEGATIVE_INFINITY;
  let busy = 0;
  return {
    end: (now, bytes, diskRate) => {
      const begin = Math.max(now, free);
      if (now > free + sliceSeconds) {
        start = now;
        asked = 0;
      }
      const past = Math.floor((now - start) / sliceSeconds);
      asked = Math.max(asked, (past - SLICES_KEPT) * sliceBytes);
      free = begin;
      let left = bytes;
      for (let slice = Math.floor(asked / sliceBytes); left > 0; slice++) {
        const passing = Math.max(0, Math.min(left, (slice + 1) * sliceBytes - asked));
        free = Math.max(free, start + slice * sliceSeconds) + passing / diskRate;
        asked += passing;
        left -= passing;
      }
      busy += free - begin;
      return free;
    },
    busySeconds: (now) => busy - Math.max(0, free - now),
  };
}
