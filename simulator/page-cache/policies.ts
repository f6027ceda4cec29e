import { PAGE_TABLES } from '../../engine/cost/reclaim.ts';

export const PAGE_POLICIES = ['linux', 'linux-two-list', 'overflow', 'metal', 'android'] as const;

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
  | ({ readonly name: 'linux' } & LinuxMapping)
  | ({ readonly name: 'linux-two-list' } & LinuxMapping & Advice)
  | { readonly name: 'overflow' }
  | { readonly name: 'metal' }
  | ({ readonly name: 'android'; readonly beyondSwap: 'linux' } & Swap & LinuxMapping)
  | ({ readonly name: 'android'; readonly beyondSwap: 'overflow' } & Swap);

export interface Advice {
  /**
   * The mapping is advised MADV_RANDOM: page faults read nothing ahead, whatever `readAhead` says, and reclaim doesn't look
   * at the accessed bits (vma_has_recency, include/linux/mm_inline.h). Measured, Linux 6.18: populated in time, a ring's
   * weights are read exactly once a token, and nothing is promoted.
   */
  readonly random?: boolean;
}

export interface Swap {
  /** d^bytes_can_swap: cold pages of other apps, bytes. */
  readonly swappable: number;
  /** d^swap_avail: room for them in swap, bytes. */
  readonly swapFree: number;
}

/** What the kernel's work on pages takes of a processor, bytes per second. */
export interface KernelRates {
  /** MADV_WILLNEED enters pages, in full memory, and submits their reads. */
  readonly submitted: number;
  /** Reclaim looks at used pages, and spares them. */
  readonly spared: number;
  /** A first use maps pages that are in memory. */
  readonly mapped: number;
  /** Pages are given back: MADV_DONTNEED with POSIX_FADV_DONTNEED, in the helper thread, before it prefetches. */
  readonly released: number;
}

export const NO_KERNEL_WORK: KernelRates = {
  submitted: Number.POSITIVE_INFINITY,
  spared: Number.POSITIVE_INFINITY,
  mapped: Number.POSITIVE_INFINITY,
  released: Number.POSITIVE_INFINITY,
};

/**
 * Measured, Linux 6.18 on a shared virtual machine with two processors: MADV_WILLNEED takes 2.5 ms for 4 MiB in full
 * memory; reclaim looks at 400 MiB of used pages in 45 ms; the first sum over what MADV_WILLNEED brought runs at
 * 7.8 GB/s, the second at 25 GB/s; 36 to 72 MiB are given back at 4.8 to 7.2 GB/s on a mapping advised MADV_RANDOM, at
 * 3.3 to 4.7 on an ordinary one.
 */
export const MEASURED_KERNEL: KernelRates = { submitted: 1.65e9, spared: 9e9, mapped: 11e9, released: 5e9 };

export interface LinuxMapping {
  /**
   * The disk's read_ahead_kb, bytes: how far a page fault or MADV_POPULATE_READ reads past what it was asked for, into a
   * neighbour's layers. Only whole extents of it count. Default: Linux's 128 KiB.
   */
  readonly readAhead?: number;
  /** How fast the kernel's own work goes; it takes no time unless given. */
  readonly kernel?: KernelRates;
  /** Page tables and other memory per mapped byte that counts against the limit. Default: PAGE_TABLES. */
  readonly overhead?: number;
}

const DEFAULT_READ_AHEAD = 128 * 2 ** 10;

/** A policy's parameters with nothing left open. */
export interface PolicyParameters {
  readonly kind: 'linux' | 'linux-two-list' | 'overflow' | 'metal';
  readonly readAhead: number;
  readonly kernel: KernelRates;
  readonly overhead: number;
  /** Reclaim looks at the accessed bits of page tables. */
  readonly seesUse: boolean;
  /** How far a page fault that no readahead foresaw reads before what it was asked for, bytes. */
  readonly readAround: number;
  /** min(d^bytes_can_swap, d^swap_avail) */
  readonly swappable: number;
}

/** @throws RangeError for a parameter that is negative or not a number */
export function policyParameters(policy: PagePolicy): PolicyParameters {
  const parameters = complete(policy);
  for (const name of ['readAhead', 'overhead', 'swappable'] as const) {
    if (!(parameters[name] >= 0)) throw new RangeError(`${name} is ${parameters[name]}; it must be 0 or more`);
  }
  for (const [name, rate] of Object.entries(parameters.kernel)) {
    if (!(rate > 0)) throw new RangeError(`kernel.${name} is ${rate}; it must be above 0`);
  }
  return parameters;
}

function complete(policy: PagePolicy): PolicyParameters {
  switch (policy.name) {
    case 'linux':
      return { kind: policy.name, ...mapping(policy), ...ORDINARY };
    case 'linux-two-list': {
      const { random = false } = policy;
      const { readAhead, ...rest } = mapping(random ? { ...policy, readAhead: 0 } : policy);
      return { kind: policy.name, readAhead, ...rest, ...ORDINARY, readAround: readAhead / 2, seesUse: !random };
    }
    case 'overflow':
    case 'metal':
      return { kind: policy.name, ...IDEAL, ...ORDINARY };
    case 'android': {
      const swappable = Math.min(policy.swappable, policy.swapFree);
      if (policy.beyondSwap === 'overflow') return { kind: 'overflow', ...IDEAL, ...ORDINARY, swappable };
      return { kind: 'linux', ...mapping(policy), ...ORDINARY, swappable };
    }
  }
}

const ORDINARY = { readAround: 0, swappable: 0, seesUse: true } as const;

const IDEAL: Required<LinuxMapping> = { readAhead: 0, kernel: NO_KERNEL_WORK, overhead: 0 };

function mapping({
  readAhead = DEFAULT_READ_AHEAD,
  kernel = NO_KERNEL_WORK,
  overhead = PAGE_TABLES,
}: LinuxMapping): Required<LinuxMapping> {
  return { readAhead, kernel, overhead };
}
