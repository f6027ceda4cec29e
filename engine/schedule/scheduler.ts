import type { ReclaimPolicy } from '../cost/reclaim.ts';
import type { Runtime } from '../cost/runtime.ts';
import type { Cluster } from '../hardware/cluster.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Plan } from '../plan/plan.ts';
import type { Prefetch } from '../plan/weights-policy.ts';

/** Problem for a scheduler. `belief` is what devices report; predictions judge the plan on what they really have. */
export interface SchedulingProblem {
  readonly belief: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  /** How the OS reclaims, as the scheduler believes; the papers' schedulers assume `overflow` and ignore this. */
  readonly reclaim?: ReclaimPolicy;
  readonly runtime?: Runtime;
  /**
   * Required place of GPU layers' KV caches; HELM's schedulers put them into RAM unless told, the others leave them
   * with their layers.
   */
  readonly kvCache?: Plan['kvCache'];
  /**
   * Most memory pressure on a device: bytes that can't be reclaimed (KV cache, buffers, pinned weights) over the RAM
   * installed. `ring-aware` keeps to it; by default what is available is the only limit.
   */
  readonly maxPressure?: number;
}

/** Why there is no plan, for callers that branch on it. */
export type NoPlanReason =
  | 'fits-nowhere'
  | 'more-devices-than-layers'
  | 'needs-gpu'
  | 'needs-npu'
  | 'one-request-only'
  | 'whole-operators'
  | 'no-experts'
  | 'no-set-assignment'
  | 'solver-failed'
  | 'unreachable';

/** The reason why a scheduler has no plan. */
export interface NoPlan {
  readonly plan: undefined;
  readonly reason: NoPlanReason;
  /** One line: what is lacking, and what to do about it. */
  readonly message: string;
}

/** A plan, or why there is none. */
export type Scheduled = { readonly plan: Plan } | NoPlan;

export function noPlan(reason: NoPlanReason, message: string): NoPlan {
  return { plan: undefined, reason, message };
}

/**
 * The prefetch policy of an exact planner. In the closed forms prefetching gains nothing, and under `double` it loads
 * reclaimed weights twice, so `double` gets none. (The simulator shows what prefetching gains by overlap.)
 */
export function worthwhilePrefetch(reclaim: ReclaimPolicy): Prefetch {
  return reclaim === 'double' ? 'none' : 'willneed';
}

/** The divisors of `layers`, ascending: the rounds k for which all rounds have equal windows (prima.cpp Eq. 3). */
export function divisors(layers: number): number[] {
  return Array.from({ length: layers }, (_, index) => index + 1).filter((k) => layers % k === 0);
}
