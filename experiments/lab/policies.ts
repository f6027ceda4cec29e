import type { Prefetch, Release } from '../../engine/plan/weights-policy.ts';

interface Policy {
  readonly prefetch: Prefetch;
  readonly release: Release;
}

/** What devices of a lab do with their weights, by a short name for command lines. */
export const LAB_POLICIES = {
  none: { prefetch: 'none', release: 'none' },
  /** One call for a window, as prima.cpp's source does. */
  'willneed-whole': { prefetch: 'willneed-whole', release: 'none' },
  /** Calls of 4 MiB, as its paper means it. */
  willneed: { prefetch: 'willneed', release: 'none' },
  populate: { prefetch: 'populate', release: 'none' },
  drop: { prefetch: 'populate', release: 'drop' },
  pinned: { prefetch: 'populate', release: 'pinned' },
} as const satisfies Record<string, Policy>;

export type LabPolicy = keyof typeof LAB_POLICIES;
export const LAB_POLICY_NAMES = Object.keys(LAB_POLICIES) as LabPolicy[];
