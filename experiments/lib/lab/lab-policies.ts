import type { WeightsPolicy } from '../../../engine/plan/plan.ts';

type Policy = Pick<WeightsPolicy, 'prefetch' | 'release'>;

/** What devices of a lab do with their weights, by a short name for command lines. */
export const LAB_POLICIES = {
  none: { prefetch: 'none', release: 'none' },
  willneed: { prefetch: 'willneed', release: 'none' },
  populate: { prefetch: 'populate', release: 'none' },
  drop: { prefetch: 'populate', release: 'drop' },
  pinned: { prefetch: 'populate', release: 'pinned' },
} as const satisfies Record<string, Policy>;

export type LabPolicy = keyof typeof LAB_POLICIES;
export const LAB_POLICY_NAMES = Object.keys(LAB_POLICIES) as LabPolicy[];
