import type { WeightsPolicy } from '../../plan/weights-policy.ts';
import type { RingWindow } from './windows.ts';

/** What of a plan a ring carries out. */
export interface RingLayout {
  /** In the order in which a token visits them. */
  readonly windows: readonly RingWindow[];
  /** By device; one that is not named leaves its weights to its operating system. */
  readonly weights: Readonly<Record<string, WeightsPolicy>>;
}
