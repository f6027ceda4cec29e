/**
 * How an operating system reclaims mapped weights, as a choice of the caller: papers and kernels disagree.
 * - `linux`: strict least-recently-used. Measured: within 0.02 of the file's size for page faults, for prefetching with
 *   MADV_POPULATE_READ at a small kernel readahead and for pinned prefixes; and within 0.01 for MADV_WILLNEED on a mapping
 *   advised MADV_SEQUENTIAL, as prima.cpp maps weights (A.3, after Eq. 15): there the kernel ignores the accessed bits
 *   that `linux-two-list` looks at, and drops what was read first, which in a cycle is what was used first.
 * - `linux-two-list`: the kernel's inactive and active lists (mm/vmscan.c, mm/workingset.c) on an ordinary mapping, see
 *   createTwoLists.
 * - `overflow`: what prima.cpp's Eq. 15 assumes: what is resident stays, and only what exceeds the memory is reloaded.
 * - `metal`: macOS with Metal (prima.cpp A.3, Eq. 16): everything stays until memory is exhausted, then all is dropped.
 * - `android`: cold pages of other apps go to swap first, at most `min(swappable, swapFree)` bytes (Eq. 17); from then on
 *   as Linux, or as Eq. 17 has it, `overflow`.
 */
export type PagePolicy =
  | ({ readonly name: 'linux' | 'linux-two-list' } & LinuxMapping)
  | { readonly name: 'overflow' }
  | { readonly name: 'metal' }
  | ({ readonly name: 'android'; readonly beyondSwap: 'linux' } & Swap & LinuxMapping)
  | ({ readonly name: 'android'; readonly beyondSwap: 'overflow' } & Swap);

export interface Swap {
  /** d^bytes_can_swap: cold pages of other apps, bytes. */
  readonly swappable: number;
  /** d^swap_avail: room for them in swap, bytes. */
  readonly swapFree: number;
}

export interface LinuxMapping {
  /**
   * The disk's read_ahead_kb, bytes: how far a page fault or MADV_POPULATE_READ reads past what it was asked for, into a
   * neighbour's layers. Only whole extents of it count. Default: Linux's 128 KiB.
   */
  readonly readAhead?: number;
  /** Page tables and other memory per mapped byte that counts against the limit. Default: 6 MiB per GiB, measured. */
  readonly overhead?: number;
}

const DEFAULT_READ_AHEAD = 128 * 2 ** 10;
const DEFAULT_OVERHEAD = 6 / 1024;

/** A policy's parameters with nothing left open. */
export interface PolicyParameters {
  readonly kind: 'linux' | 'linux-two-list' | 'overflow' | 'metal';
  readonly readAhead: number;
  readonly overhead: number;
  /** min(d^bytes_can_swap, d^swap_avail) */
  readonly swappable: number;
}

/** @throws RangeError for a parameter that is negative or not a number */
export function policyParameters(policy: PagePolicy): PolicyParameters {
  const parameters = complete(policy);
  for (const name of ['readAhead', 'overhead', 'swappable'] as const) {
    if (!(parameters[name] >= 0)) throw new RangeError(`${name} is ${parameters[name]}; it must be 0 or more`);
  }
  return parameters;
}

function complete(policy: PagePolicy): PolicyParameters {
  switch (policy.name) {
    case 'linux':
    case 'linux-two-list':
      return { kind: policy.name, ...mapping(policy), swappable: 0 };
    case 'overflow':
    case 'metal':
      return { kind: policy.name, readAhead: 0, overhead: 0, swappable: 0 };
    case 'android': {
      const swappable = Math.min(policy.swappable, policy.swapFree);
      if (policy.beyondSwap === 'overflow') return { kind: 'overflow', readAhead: 0, overhead: 0, swappable };
      return { kind: 'linux', ...mapping(policy), swappable };
    }
  }
}

function mapping({
  readAhead = DEFAULT_READ_AHEAD,
  overhead = DEFAULT_OVERHEAD,
}: LinuxMapping): Required<LinuxMapping> {
  return { readAhead, overhead };
}
