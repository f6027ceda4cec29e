import type { WeightsPolicy } from '../plan/plan.ts';
import type { PrefetchCall } from './mapped-weights.ts';

/**
 * A plan's weights policy as it can be carried out: a window may also be asked for in one call (`willneed-whole`), which
 * a plan doesn't tell apart from `willneed`.
 */
export type WindowPolicy = Omit<WeightsPolicy, 'prefetch'> & { readonly prefetch: 'none' | PrefetchCall };

/** All there are, for options and messages. */
export const PREFETCHES = [
  'none',
  'willneed',
  'willneed-whole',
  'populate',
] as const satisfies WindowPolicy['prefetch'][];
export const RELEASES = ['none', 'drop', 'pinned'] as const satisfies WindowPolicy['release'][];
