import type { DeviceKind } from '../hardware/device.ts';

/**
 * What the OS does with mapped weights when they exceed the memory there is:
 * - `overflow`: it keeps what fits and reloads the rest (prima.cpp Eqs. 15, 17);
 * - `lru`: reading layers in a cycle, it drops each one just before its turn, so everything is reloaded;
 * - `double`: as `lru`, and a device that prefetches loads everything twice (prefetch-release, prima.cpp A.1).
 * macOS with Metal keeps everything or drops everything, under each of them (Eq. 16).
 */
export const RECLAIM_POLICIES = ['overflow', 'lru', 'double'] as const;
export type ReclaimPolicy = (typeof RECLAIM_POLICIES)[number];

/** Page tables per mapped byte, which count against the memory: 6 MiB per GiB, measured on Linux 6.18. */
export const PAGE_TABLES = 6 / 1024;

/** What a prefetching thread has under way: two pieces of 4 MiB (native/memory), bytes. */
const READ_AHEAD_BYTES = 2 ** 23;

/** Bytes of `memory` that are left for `mapped` bytes of weights, beside their page tables and what is being read. */
export function roomForWeights(memory: number, mapped: number): number {
  return Math.max(0, memory - PAGE_TABLES * mapped - READ_AHEAD_BYTES);
}

/**
 * Bytes of weights that a device reads from its disk again for every token (prima.cpp Eqs. 15–17).
 * @param needed weights, KV cache and buffers that belong in RAM, bytes
 * @param weights the part of them that is mapped weights and can be reclaimed
 * @param available bytes there are
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
