import type { ReclaimPolicy } from '../cost/reclaim.ts';
import type { Runtime } from '../cost/runtime.ts';
import type { Cluster } from '../hardware/cluster.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Plan } from '../plan/plan.ts';
import type { Prefetch } from '../plan/weights-policy.ts';

/** What a scheduler plans for. `belief` is what devices report; a prediction judges the plan on what they have. */
export interface SchedulingProblem {
  readonly belief: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  /** How the scheduler believes the OS reclaims; schedulers of the papers know `overflow` only, and ignore it. */
  readonly reclaim?: ReclaimPolicy;
  readonly runtime?: Runtime;
}

/** Why there is no plan: a kind to branch on. */
export type NoPlanReason =
  | 'fits-nowhere'
  | 'more-devices-than-layers'
  | 'needs-gpu'
  | 'needs-npu'
  | 'one-request-only'
  | 'no-set-assignment'
  | 'solver-failed';

export interface NoPlan {
  readonly plan: undefined;
  readonly reason: NoPlanReason;
  /** One line: what is lacking, and what could be done. */
  readonly message: string;
}

/** A plan, or why there is none. */
export type Scheduled = { readonly plan: Plan } | NoPlan;

export function noPlan(reason: NoPlanReason, message: string): NoPlan {
  return { plan: undefined, reason, message };
}

/**
 * Whether an exact planner lets devices prefetch. In the closed forms prefetching gains nothing, and under `double` it
 * loads what is reclaimed twice: there it is left out. (What it gains by overlap is for the simulator to say.)
 */
export function worthwhilePrefetch(reclaim: ReclaimPolicy): Prefetch {
  return reclaim === 'double' ? 'none' : 'willneed';
}

/** Every whole divisor of `layers`, ascending: the rounds k that fill all windows (prima.cpp Eq. 3). */
export function divisors(layers: number): number[] {
  return Array.from({ length: layers }, (_, index) => index + 1).filter((k) => layers % k === 0);
}
