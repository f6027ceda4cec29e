import { DEFAULT_READ_AHEAD, MEASURED_PAGE_RATES, PAGE_TABLES, type PageRates } from '../../engine/cost/reclaim.ts';

export const PAGE_POLICIES = ['linux', 'linux-two-list', 'mglru', 'overflow', 'metal', 'android'] as const;

/**
 * How an operating system reclaims mapped weights. The caller chooses, since the papers' assumptions differ from what
 * operating systems do.
 * - `linux`: strict least-recently-used. Measured: within 0.02 of the file's size for page faults, for prefetching with
 *   MADV_POPULATE_READ at a small readahead and for pinned prefixes; and within 0.01 for MADV_WILLNEED on a mapping
 *   advised MADV_SEQUENTIAL, as prima.cpp maps weights (A.3, after Eq. 15): there Linux ignores the accessed bits that
 *   `linux-two-list` checks, and evicts pages in the order in which they were read, which in a cyclic scan is the order
 *   of use.
 * - `linux-two-list`: Linux's inactive and active lists (mm/vmscan.c, mm/workingset.c) on an ordinary mapping, see
 *   createTwoLists.
 * - `mglru`: Linux's multi-generational LRU, see createGenerationalLru.
 * - `overflow`: the assumption of prima.cpp's Eq. 15: resident pages stay, and only the bytes that exceed the memory
 *   are reloaded.
 * - `metal`: macOS with Metal (prima.cpp A.3, Eq. 16): all pages stay until memory is exhausted, then all are evicted.
 * - `android`: cold pages of other apps go to swap first, at most `min(swappable, swapFree)` bytes (Eq. 17); after that
 *   Linux's strict LRU, `mglru`, or `overflow` as in Eq. 17.
 */
export type PagePolicy =
  | ({ readonly name: 'linux' } & LinuxMapping)
  | ({ readonly name: 'linux-two-list' } & LinuxMapping & Advice)
  | ({ readonly name: 'mglru' } & LinuxMapping & Advice & Generations)
  | { readonly name: 'overflow' }
  | { readonly name: 'metal' }
  | ({ readonly name: 'android'; readonly beyondSwap: 'linux' } & Swap & LinuxMapping)
  | ({ readonly name: 'android'; readonly beyondSwap: 'mglru' } & Swap & LinuxMapping & Generations)
  | ({ readonly name: 'android'; readonly beyondSwap: 'overflow' } & Swap);

/** How multi-generational LRU is set on a system, and how the file is used. */
export interface Generations {
  /** Aging walks page tables (bit 2 of lru_gen/enabled); otherwise only eviction finds out what was used. Default: true. */
  readonly walksTables?: boolean;
  /** The file is used by read() rather than through a mapping, so that its uses count in tiers. Default: false. */
  readonly throughDescriptor?: boolean;
  /**
   * lru_gen/min_ttl_ms, seconds: no generation is made while the oldest is younger. The kernel kills a process if that
   * leaves it nothing to evict; here eviction goes on. It needs a clock. Default: 0.
   */
  readonly minTtl?: number;
}

/** Advice to the kernel about a mapping. */
export interface Advice {
  /**
   * The mapping is advised MADV_RANDOM: page faults read nothing ahead, regardless of `readAhead`, and reclaim ignores
   * the accessed bits (vma_has_recency, include/linux/mm_inline.h). Measured on Linux 6.18: a ring's weights that are
   * populated in time are read exactly once per token, and no page is promoted.
   */
  readonly random?: boolean;
}

/** Swap of a device. */
export interface Swap {
  /** d^bytes_can_swap: cold pages of other apps, bytes. */
  readonly swappable: number;
  /** d^swap_avail: room for them in swap, bytes. */
  readonly swapFree: number;
}

/** Rates of the operating system's own work on pages, bytes per second. */
export interface OsRates extends PageRates {
  /** Reclaim checks used pages and keeps them. */
  readonly spared: number;
}

/** Rates under which the operating system's work takes no time. */
export const NO_OS_WORK: OsRates = {
  submitted: Number.POSITIVE_INFINITY,
  spared: Number.POSITIVE_INFINITY,
  mapped: Number.POSITIVE_INFINITY,
  released: Number.POSITIVE_INFINITY,
};

/** MEASURED_PAGE_RATES, and on the same machine: reclaim checks 400 MiB of used pages in 45 ms. */
export const MEASURED_OS_RATES: OsRates = { ...MEASURED_PAGE_RATES, spared: 9e9 };

/** Settings of Linux for mapped files. */
export interface LinuxMapping {
  /**
   * The disk's read_ahead_kb, bytes: how far a page fault or MADV_POPULATE_READ reads beyond the requested range,
   * possibly into layers of other devices. It counts in whole extents. Default: DEFAULT_READ_AHEAD.
   */
  readonly readAhead?: number;
  /** Rates of the operating system's own work. By default it takes no time. */
  readonly osRates?: OsRates;
  /** Bytes of page tables and other memory per mapped byte, which count against the limit. Default: PAGE_TABLES. */
  readonly overhead?: number;
}

/** A policy's parameters, with all defaults filled in. */
export interface PolicyParameters {
  readonly kind: 'linux' | 'linux-two-list' | 'mglru' | 'overflow' | 'metal';
  readonly readAhead: number;
  readonly osRates: OsRates;
  readonly overhead: number;
  /** Whether reclaim checks the accessed bits of page tables. */
  readonly seesUse: boolean;
  /** How far a page fault without preceding readahead reads before the requested range, bytes. */
  readonly readAround: number;
  /** min(d^bytes_can_swap, d^swap_avail) */
  readonly swappable: number;
  readonly generations: Required<Generations>;
}

/** @throws RangeError for a parameter that is negative or not a number */
export function policyParameters(policy: PagePolicy): PolicyParameters {
  const parameters = complete(policy);
  for (const name of ['readAhead', 'overhead', 'swappable'] as const) {
    if (!(parameters[name] >= 0)) throw new RangeError(`${name} is ${parameters[name]}; it must be 0 or more`);
  }
  const { minTtl } = parameters.generations;
  if (!(minTtl >= 0)) throw new RangeError(`minTtl is ${minTtl}; it must be 0 seconds or more`);
  for (const [name, rate] of Object.entries(parameters.osRates)) {
    if (!(rate > 0)) throw new RangeError(`osRates.${name} is ${rate}; it must be above 0`);
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
    case 'mglru': {
      const { random = false } = policy;
      const { readAhead, ...rest } = mapping(random ? { ...policy, readAhead: 0 } : policy);
      const generations = generationsOf(policy);
      const ordinary = { ...ORDINARY, readAround: readAhead / 2, seesUse: !random };
      return { kind: policy.name, readAhead, ...rest, ...ordinary, generations };
    }
    case 'overflow':
    case 'metal':
      return { kind: policy.name, ...IDEAL, ...ORDINARY };
    case 'android': {
      const swappable = Math.min(policy.swappable, policy.swapFree);
      if (policy.beyondSwap === 'overflow') return { kind: 'overflow', ...IDEAL, ...ORDINARY, swappable };
      if (policy.beyondSwap === 'linux') return { kind: 'linux', ...mapping(policy), ...ORDINARY, swappable };
      const { name: _, beyondSwap, ...rest } = policy;
      return { ...complete({ name: beyondSwap, ...rest }), swappable };
    }
  }
}

function generationsOf({
  walksTables = true,
  throughDescriptor = false,
  minTtl = 0,
}: Generations): Required<Generations> {
  return { walksTables, throughDescriptor, minTtl };
}

const ORDINARY = { readAround: 0, swappable: 0, seesUse: true, generations: generationsOf({}) } as const;

const IDEAL: Required<LinuxMapping> = { readAhead: 0, osRates: NO_OS_WORK, overhead: 0 };

function mapping({
  readAhead = DEFAULT_READ_AHEAD,
  osRates = NO_OS_WORK,
  overhead = PAGE_TABLES,
}: LinuxMapping): Required<LinuxMapping> {
  return { readAhead, osRates, overhead };
}

/** How a file is read: in order, with readahead, or page by page. */
export type Access = 'sequential' | 'random';

/** How pages that a computation uses are read. */
export interface Faults {
  /** How page faults read. */
  readonly access: Access;
  /** Whether computing begins before the whole range is in memory: pages are used while the next ones are read. */
  readonly usesPagesAsTheyCome: boolean;
  /**
   * Whether reading a range in one step leaves the same pages in memory as reading it piece by piece, if nobody else
   * reads.
   */
  readonly readsInOneGo: boolean;
  readonly osRates: OsRates;
  /** How far the operating system reads ahead of page faults, bytes. */
  readonly readAhead: number;
}

/**
 * How page faults work under a policy. Linux reads ahead, and a computation uses pages while the next ones are read:
 * measured, a ring that reads all its weights takes the time of the disk, not that of the disk and the processor. On a
 * mapping advised MADV_RANDOM it reads page by page. The idealised policies of prima.cpp's Eqs. 15 and 16 do neither.
 */
export function faultsOf(policy: PagePolicy): Faults {
  const { kind, readAhead, osRates } = policyParameters(policy);
  const isLinux = kind === 'linux' || kind === 'linux-two-list' || kind === 'mglru';
  const isAhead = isLinux && readAhead > 0;
  return {
    access: isLinux && !isAhead ? 'random' : 'sequential',
    usesPagesAsTheyCome: isAhead,
    readsInOneGo: kind === 'linux',
    osRates,
    readAhead,
  };
}
