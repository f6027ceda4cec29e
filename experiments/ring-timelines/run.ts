import { createWorkload } from '../../engine/model/workload.ts';
import { decodedTokens } from '../../engine/trace/excerpt.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { TimelineCase } from './cases.ts';
import { RING_MODEL } from './rings.ts';

/** How Linux reclaims: strict LRU, as on the sequential mapping of prima.cpp; its two lists; or the paper's ideal. */
export const RECLAIMS = ['linux', 'linux-two-list', 'overflow'] as const;
export type Reclaim = (typeof RECLAIMS)[number];

/** A case in steady state; sums are over all devices, seconds and bytes per token. */
export interface TimelineResult extends Omit<TimelineCase, 'plan' | 'cluster'> {
  readonly trace: Trace;
  readonly tokenSeconds: number;
  readonly readBytes: number;
  readonly stallSeconds: number;
  readonly bubbleSeconds: number;
  readonly idleSeconds: number;
}

/** Tokens before the recorded ones; they still depend on the initial state of the cache. */
const SETTLING = 2;
/** Tokens after the recorded ones, since a read is recorded when it ends. */
const FOLLOWING = 1;

/** Simulates a case, and keeps `tokens` tokens of it. */
export function runTimeline(
  { key, title, cluster, plan }: TimelineCase,
  { reclaim, tokens }: { readonly reclaim: Reclaim; readonly tokens: number },
): TimelineResult {
  const workload = createWorkload({ promptTokens: 1, outputTokens: SETTLING + tokens + FOLLOWING, context: 0 });
  // A whole number of extents per layer, so that a page fault never reads beyond its layer.
  const extentBytes = RING_MODEL.layer.bytes / 32;
  // As in the figure, a page fault blocks its computation: nothing is read ahead.
  const policy = reclaim === 'overflow' ? { name: reclaim } : { name: reclaim, readAhead: 0 };
  const options = { reclaim: policy, context: 'fixed', extentBytes } as const;
  const result = simulate({ cluster, model: RING_MODEL, plan, workload, ...options });
  const trace = decodedTokens(result.trace, SETTLING, tokens);
  const { tokenSeconds, devices } = metrics(trace);
  const perToken = (pick: (device: (typeof devices)[number]) => number): number =>
    devices.reduce((sum, device) => sum + pick(device), 0) / tokens;
  return {
    key,
    title,
    trace,
    tokenSeconds: tokenSeconds ?? Number.NaN,
    readBytes: perToken(({ faultedBytes, prefetchedBytes }) => faultedBytes + prefetchedBytes),
    stallSeconds: perToken(({ stallSeconds }) => stallSeconds),
    bubbleSeconds: perToken(({ bubbleSeconds }) => bubbleSeconds),
    idleSeconds: perToken(({ idleSeconds }) => idleSeconds),
  };
}
