import type { Eviction } from './unit-cache.ts';

/** Policies that need nothing but their name: shares and samples are what caches usually have. */
export const EVICTIONS = {
  lru: { kind: 'lru' },
  lfu: { kind: 'lfu' },
  /** Four fifths of the slots are for units that were needed again. */
  slru: { kind: 'slru', share: 0.8 },
  lfru: { kind: 'lfru', sample: 8 },
  random: { kind: 'random' },
} as const satisfies Readonly<Record<string, Eviction>>;
/** Name of a rule that decides which expert leaves a full cache. */
export type EvictionName = keyof typeof EVICTIONS;
