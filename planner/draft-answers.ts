import { predict } from '../engine/cost/predict.ts';
import { plannedRuntime } from '../engine/cost/runtime.ts';
import { bestDraftTokens } from '../engine/cost/speculation.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Device } from '../engine/hardware/device.ts';
import { formatBytes } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import { keptBytes } from '../engine/model/kept-bytes.ts';
import type { Model } from '../engine/model/model.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { ringPlan } from '../engine/plan/ring-plan.ts';
import { simulate } from '../simulator/simulate.ts';
import { answer, type RunnableAnswer } from './answer.ts';
import { closedFormSeconds } from './candidates.ts';
import type { Question } from './question.ts';

/** Gain of a draft model on a plan at one acceptance rate. */
export interface DraftAnswer {
  /** α */
  readonly acceptanceRate: number;
  /** γ that the cost model chooses; 0: drafts don't pay. */
  readonly draftTokens: number;
  /** Ratio of TPOT without drafts to TPOT with them: by closed form, and simulated. */
  readonly predictedGain: number;
  readonly simulatedGain: number;
}

export interface DraftQuestion {
  readonly question: Question;
  /** The best answer without a draft, with its simulation. */
  readonly plain: RunnableAnswer;
  readonly draft: Model;
  readonly acceptanceRates: readonly number[];
  /** The most tokens to draft at a time. */
  readonly most: number;
}

export interface PlannedDrafts {
  /** Device that runs the draft: on the head's CPU, as `hearth generate` and `hearth run` do. */
  readonly device: string;
  /** Its weights, KV cache and states, which the plan leaves room for. */
  readonly draftBytes: number;
  /** TPOT of the draft there. */
  readonly draftSeconds: number;
  /** The cluster with the memory that the draft leaves, and the best plan on it. */
  readonly cluster: Cluster;
  readonly answered: RunnableAnswer;
  readonly answers: readonly DraftAnswer[];
}

/** Tokens of a simulated text; with fewer, the accepted share would depend on chance. */
const SIMULATED_TOKENS = 256;

/**
 * Number of tokens to draft at a time, and what that gains: Leviathan et al. 2023, Theorem 3.8, with the closed form of a
 * verification (`bestDraftTokens`), and the same γ simulated. The draft takes memory of the head; the plan is the best
 * with what is left, and gains are over the best one without a draft.
 * @throws InputError if there is no room next to the draft, and for plans that cut tensors, whose verifications are not
 *   predicted
 */
export function plannedDrafts({ question, plain, draft, acceptanceRates, most }: DraftQuestion): PlannedDrafts {
  const { model, workload } = question;
  const device = plain.plan.embedding.device;
  const draftBytes = draft.bytes + draft.layers * keptBytes(draft, workload.context, workload.kvFormat);
  const beside = { ...question, head: device, cluster: withLess(question.cluster, device, draftBytes) };
  // Verifications of plans that cut tensors are not predicted.
  const answered = answer(beside, { simulates: true, carried: true, cuts: false });
  const where = `${draft.name} takes ${formatBytes(draftBytes)} of ${device}`;
  if (answered.status === 'does-not-fit') throw new InputError('--draft', `${where}; without them: ${answered.reason}`);
  const { plan } = answered;
  if (plan.kind !== 'ring' && plan.kind !== 'split')
    throw new InputError('--draft', `is not predicted for a plan of kind "${plan.kind}"; allowed: ring, split`);
  const draftSeconds = aloneSeconds(question, draft, device);
  const parts = { plan, model, workload };
  const verifySeconds = (tokens: number): number =>
    closedFormSeconds({ belief: beside.cluster, model, workload }, plan, tokens);
  const plainSeconds = simulatedSeconds(question.cluster, { ...parts, plan: plain.plan }, undefined);
  const answers = acceptanceRates.map((acceptanceRate): DraftAnswer => {
    const { draftTokens, tokenSeconds } = bestDraftTokens({ acceptanceRate, draftSeconds, verifySeconds, most });
    const speculation = { acceptanceRate, draftTokens, draftSeconds };
    return {
      acceptanceRate,
      draftTokens,
      predictedGain: plain.predictedSeconds / tokenSeconds,
      simulatedGain: plainSeconds / simulatedSeconds(beside.cluster, parts, speculation),
    };
  });
  return { device, draftBytes, draftSeconds, cluster: beside.cluster, answered, answers };
}

interface Parts {
  readonly plan: Plan;
  readonly model: Model;
  readonly workload: Question['workload'];
}

/** Mean TPOT once memory is in steady state. */
function simulatedSeconds(
  cluster: Cluster,
  { plan, model, workload }: Parts,
  speculation: Parameters<typeof simulate>[0]['speculation'],
): number {
  const { trace, outOfMemory } = simulate({
    ...{ cluster, plan, model, record: 'tokens', context: 'fixed', runtime: plannedRuntime(model, workload) },
    workload: { ...workload, outputTokens: SIMULATED_TOKENS },
    ...(speculation !== undefined && { speculation }),
  });
  if (outOfMemory.length > 0) return Number.POSITIVE_INFINITY;
  const decoded = trace.tokens.filter(({ phase }) => phase === 'decode');
  const steady = decoded.slice(decoded.length / 2);
  return steady.reduce((sum, { start, end }) => sum + end - start, 0) / steady.length;
}

/** TPOT of the draft, alone on a device's CPU. @throws InputError if it doesn't fit */
function aloneSeconds({ cluster, workload }: Question, draft: Model, device: string): number {
  const head = cluster.devices.filter(({ name }) => name === device).map((one) => ({ ...one, gpu: undefined }));
  const windows = [{ device, layers: draft.layers, gpuLayers: 0 }];
  const plan = ringPlan({ scheduler: 'draft', head: device, rounds: 1, windows, prefetch: 'none' });
  const truth = { ...cluster, devices: head };
  const { tokenSeconds, infeasible } = predict({ plan, truth, model: draft, workload, reclaim: 'lru' });
  if (infeasible.length > 0) throw new InputError('--draft', `${draft.name} doesn’t fit into the memory of ${device}`);
  return tokenSeconds;
}

function withLess(cluster: Cluster, device: string, bytes: number): Cluster {
  const less = ({ memory, ...rest }: Device): Device => ({
    ...rest,
    memory: { ...memory, available: Math.max(0, memory.available - bytes) },
  });
  return { ...cluster, devices: cluster.devices.map((one) => (one.name === device ? less(one) : one)) };
}
