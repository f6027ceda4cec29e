import { createRingPredictor } from '../../engine/cost/ring.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { TokenInterval } from '../../engine/trace/trace.ts';
import { simulatedReclaim } from '../../simulator/options.ts';
import { simulate } from '../../simulator/simulate.ts';
import type { Reclaim } from '../rounds/rounds.ts';

/**
 * Extents of the page cache and reads of prefetching threads in a sweep, bytes: larger than the simulator's own, for a
 * fraction of its events. test/bench/sweep.ts measures what that does to the TPOT.
 */
export const EXTENT_BYTES = 16 * 2 ** 20;
export const CHUNK_BYTES = 512 * 2 ** 20;

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

/**
 * When a run with prefetching is checked for a steady state: its last token takes as long as the one before, up to a
 * share. Nine plans in ten are steady at the first check, as the prompt fills the cache and one token settles
 * prefetching.
 * Without prefetching the first token is like all others: it finds in memory what the prompt left there, and leaves the
 * same.
 */
const LOOKS: ReadonlyMap<number, number> = new Map([
  [2, 0.05],
  [5, 1e-3],
]);

/**
 * A run that never becomes steady counts with the mean over this many tokens, without those in which the cache settles.
 */
const LONGEST = { outputTokens: 24, settling: 8 } as const;

/** A judge of plans, for one cluster and model; it never throws for a plan that can't be run. */
export function createJudge({ cluster, model, workload, reclaim }: JudgeParts): (plan: Plan) => Judged {
  const predict = createRingPredictor(cluster, model, workload);
  const steadySeconds = (plan: Plan): number | string => {
    const { outOfMemory, trace } = simulate({
      cluster,
      model,
      plan,
      workload: { ...workload, promptTokens: 1, outputTokens: LONGEST.outputTokens },
      context: 'fixed',
      record: 'tokens',
      joinsLayers: true,
      extentBytes: EXTENT_BYTES,
      chunkBytes: CHUNK_BYTES,
      reclaim: simulatedReclaim(reclaim),
      isEnough: prefetches(plan) ? isSteady : () => true,
    });
    const [shortage] = outOfMemory;
    if (shortage !== undefined) return `out of memory: ${shortage.reason}`;
    const seconds = decodeSeconds(trace.tokens);
    return seconds.length < LONGEST.outputTokens ? (seconds.at(-1) as number) : mean(seconds.slice(LONGEST.settling));
  };
  return (plan) => {
    try {
      const seconds = steadySeconds(plan);
      if (typeof seconds === 'string') return { failed: seconds };
      return { seconds, predicted: predict(plan).tokenSeconds };
    } catch (error) {
      const kind = error instanceof InputError ? 'invalid' : 'simulation failed';
      return { failed: `${kind}: ${error instanceof Error ? error.message : String(error)}` };
    }
  };
}

function prefetches({ weights }: Plan): boolean {
  return Object.values(weights).some(({ prefetch }) => prefetch !== 'none');
}

/** The tokens begin with the prompt. */
function isSteady(tokens: readonly TokenInterval[]): boolean {
  const share = LOOKS.get(tokens.length - 1);
  if (share === undefined) return false;
  const [before, last] = decodeSeconds(tokens).slice(-2) as [number, number];
  return Math.abs(last - before) <= share * before;
}

function decodeSeconds(tokens: readonly TokenInterval[]): number[] {
  return tokens.filter(({ phase }) => phase === 'decode').map(({ start, end }) => end - start);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
