import { plannedRuntime, type Runtime } from '../engine/cost/runtime.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Model } from '../engine/model/model.ts';
import type { Workload } from '../engine/model/workload.ts';
import type { SchedulingProblem } from '../engine/schedule/scheduler.ts';

/** Planning question: a model on a cluster, for one request. */
export interface Question {
  readonly cluster: Cluster;
  readonly model: Model;
  /** `context` tokens are in the KV cache while a token is decoded, whatever the prompt's length. */
  readonly workload: Workload;
  /** The device that embeds tokens and computes the output layer; the best one unless named. */
  readonly head?: string | undefined;
}

/** Scheduling problem with the runtime that determines the sizes of buffers. */
export interface PlanningProblem extends SchedulingProblem {
  readonly runtime: Runtime;
}

/** The problem with the buffers of its model at its context, unless it says otherwise. */
export function planningProblem(problem: SchedulingProblem): PlanningProblem {
  const { model, workload, runtime = plannedRuntime(model, workload) } = problem;
  return { ...problem, runtime };
}
