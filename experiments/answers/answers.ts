import { type KvPaging, NEWEST_PAGE } from '../../engine/cost/kv-pages.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { Routing } from '../../engine/experts/routing.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { KvFormat } from '../../engine/model/kv-format.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { traceOfBreakdown } from '../../engine/trace/breakdown-trace.ts';
import { metrics } from '../../engine/trace/metrics.ts';
import { countedTokens, tokenFigures } from '../../engine/trace/token-figures.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import { simulate } from '../../simulator/simulate.ts';
import { type Parts, partsOf } from './parts.ts';

/** A question about a plan, on devices that are known by a cluster file alone. */
export interface PlanCase {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly promptTokens: number;
  /** Tokens decoded after the prompt; the first and the last don't count. */
  readonly outputTokens: number;
  readonly kvFormat: KvFormat;
  /** Experts that the tokens use, those of the prompt first; `undefined`: drawn, or all are where their layer is. */
  readonly routing: Routing | undefined;
}

/** A time, and where it goes. */
export interface PhaseAnswer {
  readonly seconds: number;
  /** They add up to `seconds`; `undefined` where nothing was recorded. */
  readonly parts: Parts | undefined;
}

/** An answer to how long a prompt and a token after it take. */
export interface PlanAnswer {
  /** `undefined` where prompts aren't predicted. */
  readonly ttft: PhaseAnswer | undefined;
  readonly tpot: PhaseAnswer;
  /** Bytes read from disks for a token; `undefined`: not counted. */
  readonly readBytes: number | undefined;
}

/** How layers on a GPU whose keys and values are in RAM have them, as it is carried out; `undefined` where none does. */
function pagingOf({ kind, kvCache, stages }: Plan): { readonly paging?: KvPaging } {
  const isPaged = (kind === 'ring' || kind === 'split') && kvCache === 'host';
  return isPaged && stages.every(({ cpuExperts }) => cpuExperts === undefined) ? { paging: NEWEST_PAGE } : {};
}

/** @throws InputError for a plan that doesn't fit the cluster's memories, as predict does */
export function predicted(asked: PlanCase): PlanAnswer {
  const { cluster: truth, model, plan, promptTokens, outputTokens, kvFormat, routing } = asked;
  // The mean over the tokens that are decoded.
  const context = promptTokens + Math.round((outputTokens - 1) / 2);
  const workload = createWorkload({ promptTokens, outputTokens, context, kvFormat });
  const known = routing && { routing: { kind: 'recorded', routing } as const };
  const answerOf = (phase: 'prefill' | 'decode') => {
    const breakdown = predict({ plan, truth, model, workload, phase, ...known, ...pagingOf(plan) });
    const [shortage] = breakdown.infeasible;
    if (shortage !== undefined) throw new InputError('--plan', `doesn’t fit: ${shortage.reason}`);
    const trace = traceOfBreakdown(breakdown);
    return { breakdown, answer: { seconds: breakdown.tokenSeconds, parts: partsOf(trace, trace.tokens) } };
  };
  const { breakdown, answer: tpot } = answerOf('decode');
  // The closed forms have no prompts of cut tensors and divided experts.
  const hasPrompts = plan.kind !== 'tensor-parallel' && plan.kind !== 'expert-parallel';
  const ttft = hasPrompts ? answerOf('prefill').answer : undefined;
  return { ttft, tpot, readBytes: breakdown.reloadedBytes };
}

export interface SimulatedAnswer extends PlanAnswer {
  readonly trace: Trace;
}

/** Hearth's prefetching thread asks for this many bytes at a time, here as on the lab. */
const CHUNK_BYTES = 4 * 2 ** 20;
/** So fine that extents which two windows share don't matter, for models that have few of them. */
const FINE_EXTENT_BYTES = 2 ** 16;
/** Bytes of a model from which on the simulator's own extents are fine enough. */
const LARGE_MODEL_BYTES = 2 ** 32;

/** @throws InputError for a plan that doesn't fit the cluster's memories, as simulate does */
export function simulated(asked: PlanCase): SimulatedAnswer {
  const { cluster, model, plan, promptTokens, outputTokens, kvFormat, routing } = asked;
  const workload = createWorkload({ promptTokens, outputTokens, context: promptTokens, kvFormat });
  const isRing = plan.kind === 'ring' || plan.kind === 'split';
  const { outOfMemory, trace } = simulate({
    ...{ cluster, model, plan, workload },
    // As measured: a run came before the one that counts.
    ...(isRing && { warm: true, chunkBytes: CHUNK_BYTES }),
    ...(isRing && model.bytes < LARGE_MODEL_BYTES && { extentBytes: FINE_EXTENT_BYTES }),
    ...(routing && { routing }),
    ...pagingOf(plan),
  });
  const [shortage] = outOfMemory;
  if (shortage !== undefined) throw new InputError('--plan', `doesn’t fit: ${shortage.reason}`);
  const prompt = trace.tokens.filter(({ phase }) => phase === 'prefill').slice(0, 1);
  const { seconds, bytes } = tokenFigures(trace);
  const { firstTokenSeconds } = metrics(trace);
  return {
    trace,
    ttft: firstTokenSeconds === undefined ? undefined : { seconds: firstTokenSeconds, parts: partsOf(trace, prompt) },
    tpot: { seconds, parts: partsOf(trace, countedTokens(trace)) },
    readBytes: bytes,
  };
}
