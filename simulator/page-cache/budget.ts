/** Memory that the pages of one file may take. */
export interface Budget {
  /** Bytes: the limit less the overhead, at least 0, plus what was swapped out. */
  capacity(): number;
  /**
   * Makes room for `excess` bytes (none if negative) by swapping cold pages of other apps out, as far as that goes:
   * min(excess, min(d^bytes_can_swap, d^swap_avail)) over a run, prima.cpp Eq. 17. They don't come back.
   * @returns bytes for which there is still no room
   */
  swapOut(excess: number): number;
  swappedOut(): number;
  setLimit(limit: number): void;
}

/** @throws RangeError for a limit that is negative or not a number */
export function createBudget(limit: number, overhead: number, swappable: number): Budget {
  let allowed = checked(limit);
  let swapped = 0;
  return {
    capacity: () => Math.max(0, allowed - overhead) + swapped,
    swapOut: (excess) => {
      const bytes = Math.max(0, Math.min(excess, swappable - swapped));
      swapped += bytes;
      return excess - bytes;
    },
    swappedOut: () => swapped,
    setLimit: (next) => {
      allowed = checked(next);
    },
  };
}

function checked(limit: number): number {
  if (!(limit >= 0)) throw new RangeError(`limit is ${limit}; it must be 0 bytes or more`);
  return limit;
}
