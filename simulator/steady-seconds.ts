import type { Runtime } from '../engine/cost/runtime.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Model } from '../engine/model/model.ts';
import type { Workload } from '../engine/model/workload.ts';
import { cachesExperts, type Plan } from '../engine/plan/plan.ts';
import type { TokenInterval } from '../engine/trace/trace.ts';
import type { SimulationOptions } from './options.ts';
import { simulate } from './simulate.ts';

export interface SteadyCase {
  readonly cluster: Cluster;
  readonly model: Model;
  /** The prompt fills memories; the KV cache is held at the context's size. Other counts don't matter. */
  readonly workload: Workload;
  readonly reclaim: NonNullable<SimulationOptions['reclaim']>;
  readonly runtime?: Runtime;
}

/** Tokens that count as equally long differ by this share at most. */
const SAME_SHARE = 1e-3;

/** Tokens after which a run with prefetching may begin anew. */
const LONGEST_PERIOD = 4;

/**
 * A run that never becomes periodic counts with the mean over this many tokens, without those in which the cache
 * settles.
 */
export const LONGEST = { outputTokens: 24, settling: 8 } as const;

/**
 * Simulates a valid plan as a whole until its tokens repeat. @returns TPOT in the steady state, seconds, or why memory
 * doesn't suffice
 */
export function steadySeconds({ cluster, model, workload, reclaim, runtime }: SteadyCase, plan: Plan): number | string {
  if (cachesExperts(plan))
    return expertsSeconds({ cluster, model, workload, reclaim, ...(runtime && { runtime }) }, plan);
  const { outOfMemory, trace } = simulate({
    ...{ cluster, model, plan, reclaim },
    ...(runtime && { runtime }),
    workload: { ...workload, outputTokens: LONGEST.outputTokens },
    context: 'fixed',
    record: 'tokens',
    // Only without prefetching do the times stay the same.
    joinsLayers: !prefetches(plan),
    isEnough: (tokens) => areEnough(plan, decodeSeconds(tokens)),
  });
  const [shortage] = outOfMemory;
  if (shortage !== undefined) return `out of memory: ${shortage.reason}`;
  return steadyMean(plan, decodeSeconds(trace.tokens));
}

/** Tokens until read-ahead has settled, the least and the most that count, and the standard error of their mean that is enough. */
const OF_EXPERTS = { settling: 2, least: 8, most: 24, error: 0.01 } as const;

/** Whether the mean of these tokens is precise enough. */
function isMeanKnown(seconds: readonly number[]): boolean {
  const count = seconds.length;
  if (count < OF_EXPERTS.least) return false;
  const mean = meanOf(seconds);
  const squares = seconds.reduce((sum, one) => sum + (one - mean) ** 2, 0);
  return Math.sqrt(squares / (count * (count - 1))) <= OF_EXPERTS.error * mean;
}

/** Tokens that use experts differ from one another: the mean of some, in full caches. */
function expertsSeconds({ cluster, model, workload, reclaim, runtime }: SteadyCase, plan: Plan): number | string {
  const { outOfMemory, trace } = simulate({
    ...{ cluster, model, plan, reclaim, record: 'tokens' },
    ...(runtime && { runtime }),
    workload: { ...workload, promptTokens: 0, outputTokens: OF_EXPERTS.settling + OF_EXPERTS.most },
    isEnough: (tokens) => isMeanKnown(countedSeconds(tokens)),
    warm: true,
  });
  const [shortage] = outOfMemory;
  if (shortage !== undefined) return `out of memory: ${shortage.reason}`;
  return meanOf(countedSeconds(trace.tokens));
}

function countedSeconds(tokens: readonly TokenInterval[]): number[] {
  return decodeSeconds(tokens).slice(OF_EXPERTS.settling);
}

/** Without prefetching the first token is like all others: it finds what the prompt left, and leaves the same. */
export function areEnough(plan: Plan, seconds: readonly number[]): boolean {
  return !prefetches(plan) || periodOf(seconds) !== undefined;
}

/** Mean seconds of the tokens of a plan's steady state. */
export function steadyMean(plan: Plan, seconds: readonly number[]): number {
  const period = prefetches(plan) ? periodOf(seconds) : 1;
  return meanOf(seconds.slice(period === undefined ? LONGEST.settling : -period));
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

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
