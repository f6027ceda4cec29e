import { FIT_POLICY, NO_WEIGHTS_POLICY, type WeightsPolicy } from '../../engine/plan/weights-policy.ts';

/** The weights policies of a lab's devices, by their names on command lines. */
export const LAB_POLICIES = {
  none: NO_WEIGHTS_POLICY,
  /** One call for a whole window, as prima.cpp's source does. */
  'willneed-whole': { prefetch: 'willneed-whole', release: 'none' },
  /** Calls of 4 MiB, as prima.cpp's paper intends. */
  willneed: { prefetch: 'willneed', release: 'none' },
  populate: { prefetch: 'populate', release: 'none' },
  drop: { prefetch: 'populate', release: 'drop' },
  pinned: { ...FIT_POLICY, prefetch: 'populate' },
} as const satisfies Record<string, WeightsPolicy>;

export type LabPolicy = keyof typeof LAB_POLICIES;
export const LAB_POLICY_NAMES = Object.keys(LAB_POLICIES) as LabPolicy[];
