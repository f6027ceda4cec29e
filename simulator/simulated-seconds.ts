import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Model } from '../engine/model/model.ts';
import type { Workload } from '../engine/model/workload.ts';
import type { Plan } from '../engine/plan/plan.ts';
import type { SimulationOptions } from './options.ts';
import { simulate } from './simulate.ts';

export interface SimulatedSecondsCase {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly reclaim: NonNullable<SimulationOptions['reclaim']>;
  /** Tokens of the prompt; 1 unless given. */
  readonly prompt?: number;
}

/** Tokens decoded: the first finds memories as the prompt left them, and does not count. */
const TOKENS = 4;

/** Seconds by which a scheduler may rank plans: simulated TPOT in steady state, infinite where a plan can't run. */
export function simulatedSeconds({
  cluster,
  model,
  workload,
  reclaim,
  prompt = 1,
}: SimulatedSecondsCase): (plan: Plan) => number {
  const asked = { ...workload, promptTokens: prompt, outputTokens: TOKENS };
  return (plan) => {
    const options = { reclaim, context: 'fixed', record: 'tokens' } as const;
    const { outOfMemory, trace } = simulate({ cluster, model, plan, workload: asked, ...options });
    if (outOfMemory.length > 0) return Number.POSITIVE_INFINITY;
    const counted = trace.tokens.slice(2);
    return counted.reduce((sum, { start, end }) => sum + end - start, 0) / counted.length;
  };
}
