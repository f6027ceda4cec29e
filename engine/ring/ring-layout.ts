import type { RequestedPolicy } from '../weights/fit-policy.ts';
import type { RingWindow } from './ring-windows.ts';

/** What of a plan a ring carries out. */
export interface RingLayout {
  /** In the order in which a token visits them. */
  readonly windows: readonly RingWindow[];
  /** By device; those that are not named keep what they can in memory (PINNED_POLICY). */
  readonly weights: Readonly<Record<string, RequestedPolicy>>;
}
