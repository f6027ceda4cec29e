import type { DeviceKind } from '../hardware/device.ts';

/**
 * Behaviour of the operating system for mapped weights that exceed the available memory:
 * - `overflow`: it keeps what fits and reloads the rest (prima.cpp Eqs. 15, 17);
 * - `lru`: layers are read in a cycle and each is dropped just before it is needed, so everything is reloaded;
 * - `double`: like `lru`, and a device that prefetches loads everything twice (prefetch-release, prima.cpp A.1).
 * Under every policy, macOS with Metal keeps or drops all weights together (Eq. 16).
 */
export const RECLAIM_POLICIES = ['overflow', 'lru', 'double'] as const;
/** Name of a way in which an operating system reclaims mapped weights. */
export type ReclaimPolicy = (typeof RECLAIM_POLICIES)[number];

/** Page tables per mapped byte, which count against the memory: 6 MiB per GiB, measured on Linux 6.18. */
export const PAGE_TABLES = 6 / 1024;

/**
 * Page tables per mapped byte that count against a device's memory: none under Metal, whose limit counts buffers only
 * (the working set that it recommends), as in the simulator's page cache.
 */
export function pageTables(kind: DeviceKind): number {
  return kind === 'macos-metal' ? 0 : PAGE_TABLES;
}

/** How far Linux reads ahead unless it is set otherwise, bytes (VM_READAHEAD_PAGES, include/linux/mm.h). */
export const DEFAULT_READ_AHEAD = 128 * 2 ** 10;

/** Rates of an operating system's own work on the pages of its cache, bytes per second. */
export interface PageRates {
  /** Pages are found for what is read while memory is full, and the reads are submitted. */
  readonly submitted: number;
  /** Pages in memory are mapped into a process that uses them for the first time. */
  readonly mapped: number;
  /** Mapped pages are given back. */
  readonly released: number;
}

/**
 * Measured, Linux 6.18 on a shared virtual machine with two processors: MADV_WILLNEED takes 2.5 ms for 4 MiB in full memory; the
 * first sum over pages that it has read runs at 7.8 GB/s, the second at 25 GB/s; 36 to 72 MiB are released at 4.8 to 7.2
 * GB/s on a mapping advised MADV_RANDOM, at 3.3 to 4.7 on an ordinary one.
 */
export const MEASURED_PAGE_RATES: PageRates = { submitted: 1.65e9, mapped: 11e9, released: 5e9 };

/** Bytes that a prefetching thread is reading at a time: two pieces of 4 MiB (native/memory). */
const READ_AHEAD_BYTES = 2 ** 23;

/** Bytes of `memory` available to `mapped` bytes of weights after their page tables and reads in progress. */
export function roomForWeights(memory: number, mapped: number): number {
  return Math.max(0, memory - PAGE_TABLES * mapped - READ_AHEAD_BYTES);
}

/**
 * Bytes of weights that a device reloads from its disk for every token (prima.cpp Eqs. 15–17).
 * @param needed bytes of weights, KV cache and buffers in RAM
 * @param weights the part of `needed` that is mapped weights and can be reclaimed
 * @param available bytes of RAM that the model may use
 */
export function reloadedBytes(
  needed: number,
  weights: number,
  available: number,
  kind: DeviceKind,
  policy: ReclaimPolicy,
  prefetches: boolean,
): number {
  if (needed <= available) return 0;
  if (policy === 'double' && prefetches) return 2 * weights;
  if (policy === 'overflow' && kind !== 'macos-metal') return Math.min(needed - available, weights);
  return weights;
}
