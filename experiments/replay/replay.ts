import type { Breakdown } from '../../engine/cost/breakdown.ts';
import { hasOverlappedForm, type OverlappedPrediction, predictOverlapped } from '../../engine/cost/overlap.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { decodedTokens } from '../../engine/trace/excerpt.ts';
import { type Metrics, metrics } from '../../engine/trace/metrics.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { type SimulatedReclaim, simulatedReclaim } from '../../simulator/options.ts';
import type { SimulationResult } from '../../simulator/result.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { ReplayOptions } from './options.ts';

/** The answers for a plan and one request. */
export interface Replay {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
  /** By the closed forms, at the context of the last token. */
  readonly predicted: Breakdown;
  /** By the closed form with overlap, at the same context; `undefined` for plans that have none. */
  readonly overlapped: OverlappedPrediction | undefined;
  readonly simulated: SimulationResult;
  readonly metrics: Metrics;
  /** Bytes read from all disks per token, over the second half of the tokens, since the first tokens find memories empty. */
  readonly readPerToken: number;
}

export type ReplayCase = Pick<Replay, 'cluster' | 'model' | 'plan'> &
  Pick<ReplayOptions, 'prompt' | 'tokens' | 'reclaim' | 'noise' | 'seed' | 'taken'>;

/** Predicts a plan in both ways and simulates it. @throws InputError as both do */
export function replay({ cluster, model, plan, ...options }: ReplayCase): Replay {
  const { prompt, tokens, noise, seed, taken } = options;
  const workload = createWorkload({ promptTokens: prompt, outputTokens: tokens, context: prompt + tokens - 1 });
  const reclaim = simulatedReclaim(options.reclaim);
  const simulated = simulate({ cluster, model, plan, workload, reclaim, noise, seed, memoryTaken: taken });
  const asked = { plan, truth: cluster, model, workload, reclaim: closedForm(options.reclaim) };
  const predicted = predict(asked);
  const overlapped = hasOverlappedForm(plan) ? predictOverlapped(asked) : undefined;
  const result = {
    cluster,
    model,
    plan,
    workload,
    predicted,
    overlapped,
    simulated,
    metrics: metrics(simulated.trace),
  };
  return { ...result, readPerToken: simulated.outOfMemory.length > 0 ? 0 : readPerToken(simulated.trace, tokens) };
}

function readPerToken(trace: Trace, tokens: number): number {
  const first = Math.floor(tokens / 2);
  const { devices } = metrics(decodedTokens(trace, first, tokens - first));
  const bytes = devices.reduce((sum, { faultedBytes, prefetchedBytes }) => sum + faultedBytes + prefetchedBytes, 0);
  return bytes / (tokens - first);
}

/** The nearest policy of the closed forms. */
export function closedForm(reclaim: SimulatedReclaim): 'overflow' | 'lru' {
  return reclaim === 'overflow' ? 'overflow' : 'lru';
}
