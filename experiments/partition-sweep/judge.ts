import { createRingPredictor } from '../../engine/cost/ring.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { TokenInterval } from '../../engine/trace/trace.ts';
import { simulatedReclaim } from '../../simulator/options.ts';
import { simulate } from '../../simulator/simulate.ts';
import { createRingComposer } from '../../simulator/systems/composed-ring.ts';
import { mean } from '../report/mean.ts';
import type { Reclaim } from '../rounds/rounds.ts';

/** The times of a plan, or the reason why it can't be run. */
export type Judged =
  /** TPOT in the steady state, seconds: simulated, and by the closed forms (reclaim `overflow`). */
  { readonly seconds: number; readonly predicted: number } | { readonly failed: string };

export interface JudgeParts {
  readonly cluster: Cluster;
  readonly model: Model;
  /** Only batch and context count: the KV cache is held at the context's size. */
  readonly workload: Workload;
  readonly reclaim: Reclaim;
}

/** Tokens that count as equally long differ by this share at most. */
const SAME_SHARE = 1e-3;

/** Tokens after which a run with prefetching may begin anew. */
const LONGEST_PERIOD = 4;

/**
 * A run that never becomes periodic counts with the mean over this many tokens, without those in which the cache
 * settles.
 */
const LONGEST = { outputTokens: 24, settling: 8 } as const;

/**
 * A judge of plans, for one cluster and model; it never throws for a plan that can't be run. Rings are composed of
 * their devices, which remember what they did in other plans.
 */
export function createJudge(parts: JudgeParts): (plan: Plan) => Judged {
  const predict = createRingPredictor(parts.cluster, parts.model, parts.workload);
  const compose = createRingComposer({ ...parts, reclaim: simulatedReclaim(parts.reclaim) });
  return (plan) => {
    try {
      const tokens = compose(plan, (seconds) => seconds.length >= LONGEST.outputTokens || areEnough(plan, seconds));
      const seconds = tokens === undefined ? steadySeconds(parts, plan) : steadyMean(plan, tokens);
      if (typeof seconds === 'string') return { failed: seconds };
      return { seconds, predicted: predict(plan).tokenSeconds };
    } catch (error) {
      const kind = error instanceof InputError ? 'invalid' : 'simulation failed';
      return { failed: `${kind}: ${error instanceof Error ? error.message : String(error)}` };
    }
  };
}

/**
 * Simulates a valid plan as a whole until its tokens repeat. @returns TPOT in the steady state, seconds, or why memory doesn't
 * suffice
 */
export function steadySeconds({ cluster, model, workload, reclaim }: JudgeParts, plan: Plan): number | string {
  const { outOfMemory, trace } = simulate({
    cluster,
    model,
    plan,
    workload: { ...workload, promptTokens: 1, outputTokens: LONGEST.outputTokens },
    context: 'fixed',
    record: 'tokens',
    // Only without prefetching do the times stay the same.
    joinsLayers: !prefetches(plan),
    reclaim: simulatedReclaim(reclaim),
    isEnough: (tokens) => areEnough(plan, decodeSeconds(tokens)),
  });
  const [shortage] = outOfMemory;
  if (shortage !== undefined) return `out of memory: ${shortage.reason}`;
  return steadyMean(plan, decodeSeconds(trace.tokens));
}

/** Without prefetching the first token is like all others: it finds what the prompt left, and leaves the same. */
function areEnough(plan: Plan, seconds: readonly number[]): boolean {
  return !prefetches(plan) || periodOf(seconds) !== undefined;
}

function steadyMean(plan: Plan, seconds: readonly number[]): number {
  const period = prefetches(plan) ? periodOf(seconds) : 1;
  return mean(seconds.slice(period === undefined ? LONGEST.settling : -period));
}

function prefetches({ weights }: Plan): boolean {
  return Object.values(weights).some(({ prefetch }) => prefetch !== 'none');
}

/** The least number of tokens, p, so that the last p + 1 take as long as those p tokens before them. */
export function periodOf(seconds: readonly number[]): number | undefined {
  for (let period = 1; period <= LONGEST_PERIOD; period++) {
    const compared = seconds.slice(-period - 1);
    const first = seconds.length - compared.length - period;
    if (first >= 0 && compared.every((own, index) => isSame(own, seconds[first + index] as number))) return period;
  }
  return undefined;
}

function isSame(one: number, other: number): boolean {
  return Math.abs(one - other) <= SAME_SHARE * other;
}

function decodeSeconds(tokens: readonly TokenInterval[]): number[] {
  return tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
}
