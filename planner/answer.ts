import type { Breakdown, DeviceBreakdown } from '../engine/cost/breakdown.ts';
import { predict } from '../engine/cost/predict.ts';
import { plannedRuntime } from '../engine/cost/runtime.ts';
import type { Model } from '../engine/model/model.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { optimal } from '../engine/schedule/exact/optimal.ts';
import { believed } from './belief.ts';
import { type BestPlansOptions, bestPlans, faster, isSimulated, memoryOf, type RankedPlan } from './best-plan.ts';
import { planningProblem, type Question } from './question.ts';
import { type SimulatedTimes, simulatedTimes } from './simulated-times.ts';

/** A model that runs, and how. */
export interface RunnableAnswer {
  readonly status: 'in-memory' | 'from-disk';
  readonly model: Model;
  readonly plan: Plan;
  /** Predicted TPOT by closed form, seconds. */
  readonly predictedSeconds: number;
  /** `undefined` without a simulation, and of mixtures that are read from disks (isSimulated). */
  readonly simulated: SimulatedTimes | undefined;
  /** Bytes of weights read from disks for every token. */
  readonly reloadedBytes: number;
  /** Memory that is available is what is believed to be left after page tables (`believed`). */
  readonly devices: readonly DeviceBreakdown[];
  /** The longest context for which the plan's KV caches fit, tokens. */
  readonly longestContext: number;
  /** The best plan of whole layers, where tensors that are cut among devices are faster. */
  readonly wholeLayers: RankedPlan | undefined;
  /** The fastest plan that a program carries out, where devices of a faster ring would cache experts, if it was asked for. */
  readonly carried: RankedPlan | undefined;
}

/** A model that can't run, and why. */
export interface UnrunnableAnswer {
  readonly status: 'does-not-fit';
  readonly model: Model;
  /** One line: what is lacking. */
  readonly reason: string;
}

/** The best plan for a model on the devices, or the reason why there is none. */
export type Answer = RunnableAnswer | UnrunnableAnswer;

/** How plans for a question are found and ranked. */
export interface AnswerOptions extends BestPlansOptions {
  /** Whether plans count that cut tensors among devices; they do unless given. */
  readonly cuts?: boolean;
}

/**
 * The best plan for a model on a cluster: the fastest of all candidates in simulation or, without a simulation, by closed
 * form.
 */
export function answer(question: Question, { cuts = true, ...options }: AnswerOptions): Answer {
  const { cluster, model, workload } = question;
  const { whole, cut, carried } = bestPlans(question, options);
  const best = cuts ? faster(whole, cut) : whole;
  if (best === undefined) {
    const scheduled = optimal(planningProblem({ belief: believed(cluster), model, workload }));
    const reason = scheduled.plan === undefined ? scheduled.message : `no plan of ${model.name} fits ${cluster.name}`;
    return { status: 'does-not-fit', model, reason };
  }
  const { plan, predictedSeconds, seconds } = best;
  const { devices, reloadedBytes } = memoryOf(question, plan);
  return {
    plan,
    predictedSeconds,
    simulated: options.simulates && isSimulated(question, plan) ? simulatedTimes(question, plan, seconds) : undefined,
    status: reloadedBytes > 0 || plan.stages.some(({ streamed }) => streamed !== undefined) ? 'from-disk' : 'in-memory',
    model,
    reloadedBytes,
    devices,
    longestContext: longestContext(question, plan),
    wholeLayers: plan.kind === 'tensor-parallel' ? whole : undefined,
    carried: best === whole ? carried : undefined,
  };
}

/** No workload has more tokens. */
const MOST_CONTEXT = 10_000_000;

/**
 * The longest context for which a plan's KV caches fit, tokens, at most as many as the model was trained for; no less than
 * the workload's, for which the plan was made. Memory grows nearly in proportion to the context: two of three guesses are
 * where the first memory would be full if it did, and the third halves what is left.
 */
export function longestContext({ cluster, model, workload }: Question, plan: Plan): number {
  const predictionAt = (context: number): Breakdown => {
    const longer = { ...workload, context, reservedContext: context };
    const runtime = plannedRuntime(model, longer);
    const asked = { plan, truth: cluster, model, workload: longer, runtime } as const;
    return predict({ ...asked, reclaim: 'lru', readsExperts: false });
  };
  let [low, high] = [workload.context, Math.max(workload.context, model.trainedContext ?? MOST_CONTEXT)];
  let above = predictionAt(high);
  if (above.infeasible.length === 0) return high;
  let below = predictionAt(low);
  for (let guesses = 1; high - low > 1; guesses++) {
    const share = guesses % 3 === 0 ? 0.5 : shareUntilFull(below, above);
    const guess = low + Math.floor((high - low) * share);
    const context = Math.min(high - 1, Math.max(low + 1, guess));
    const prediction = predictionAt(context);
    if (prediction.infeasible.length === 0) [low, below] = [context, prediction];
    else [high, above] = [context, prediction];
  }
  return low;
}

/** The share of the way from one prediction to another at which the first memory is full, if all grow in proportion; 0.5 if none is. */
function shareUntilFull(below: Breakdown, above: Breakdown): number {
  const roomsOf = ({ devices }: Breakdown): number[] =>
    devices.flatMap((one) => [one.ramAvailable - one.nonReclaimableBytes, one.vramAvailable - one.vramBytes]);
  const more = roomsOf(below);
  const shares = roomsOf(above).map((room, index) => {
    const start = Math.max(0, more[index] as number);
    return room < 0 && start !== room ? start / (start - room) : 1;
  });
  const least = Math.min(1, ...shares);
  return least === 1 ? 0.5 : least;
}
