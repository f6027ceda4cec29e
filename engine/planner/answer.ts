import { type Breakdown, type DeviceBreakdown, totalSeconds } from '../cost/breakdown.ts';
import { predict } from '../cost/predict.ts';
import type { Model } from '../model/model.ts';
import { chipPartitions, type Plan } from '../plan/plan.ts';
import { optimal } from '../schedule/exact/optimal.ts';
import { believed } from './belief.ts';
import { candidates } from './candidates.ts';
import { type PlanningProblem, planningProblem, type Question } from './question.ts';
import { type SimulatedTimes, simulatedTimes, simulatedTokenSeconds } from './simulated-times.ts';

/** A model that runs, and how. */
export interface RunnableAnswer {
  readonly status: 'in-memory' | 'from-disk';
  readonly model: Model;
  readonly plan: Plan;
  /** Predicted TPOT by closed form, seconds. */
  readonly predictedSeconds: number;
  /** `undefined` without a simulation. */
  readonly simulated: SimulatedTimes | undefined;
  /** Bytes of weights read from disks for every token. */
  readonly reloadedBytes: number;
  /** Memory that is available is what is believed to be left beside page tables (`believed`). */
  readonly devices: readonly DeviceBreakdown[];
  /** The longest context for which the plan's KV caches fit, tokens. */
  readonly longestContext: number;
}

/** A model that can't run, and why. */
export interface UnrunnableAnswer {
  readonly status: 'does-not-fit';
  readonly model: Model;
  /** One line: what is lacking. */
  readonly reason: string;
}

export type Answer = RunnableAnswer | UnrunnableAnswer;

/** No model of the catalogue is trained for more. */
const MOST_CONTEXT = 131_072;

/**
 * The best plan for a model on a cluster: the fastest of all candidates in simulation or, without a simulation, by closed
 * form.
 */
export function answer(question: Question, { simulates }: { readonly simulates: boolean }): Answer {
  const { model } = question;
  const problem = { belief: question.cluster, model, workload: question.workload };
  const found = candidates(problem, question.head);
  const planning = planningProblem(problem);
  const [first] = found;
  if (first === undefined) {
    const scheduled = optimal({ ...planning, belief: believed(question.cluster) });
    const reason =
      scheduled.plan === undefined ? scheduled.message : `no plan of ${model.name} fits ${question.cluster.name}`;
    return { status: 'does-not-fit', model, reason };
  }
  const { plan, seconds: predictedSeconds } = simulates ? fastest(question, found) : first;
  const { devices, reloadedBytes } = predicted({ ...planning, belief: believed(question.cluster) }, plan, 'lru');
  return {
    plan,
    predictedSeconds,
    simulated: simulates ? simulatedTimes(question, plan) : undefined,
    status: reloadedBytes > 0 || plan.stages.some(({ streamed }) => streamed !== undefined) ? 'from-disk' : 'in-memory',
    model,
    reloadedBytes,
    devices,
    longestContext: longestContext(question, plan),
  };
}

/** The candidate that takes the least time in simulation; of equals the first. Those that can't be the fastest are not simulated. */
function fastest<Candidate extends { readonly plan: Plan }>(
  question: Question,
  found: readonly Candidate[],
): Candidate {
  let best = found[0] as Candidate;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of found) {
    if (leastSeconds(question, candidate.plan) >= least) continue;
    const seconds = simulatedTokenSeconds(question, candidate.plan);
    if (seconds < least) [best, least] = [candidate, seconds];
  }
  return best;
}

/**
 * Seconds that no simulation of a plan is faster than: the token's way around a ring without its disks, and for every
 * device the reading of what exceeds its memory. 0 where computing overlaps with other things.
 */
export function leastSeconds({ cluster, model, workload }: Question, plan: Plan): number {
  if (plan.kind === 'chip' || chipPartitions(plan).size > 0) return 0;
  const { seconds, devices } = predicted(planningProblem({ belief: cluster, model, workload }), plan, 'overflow');
  if (plan.kind === 'tensor-parallel') return totalSeconds({ ...seconds, link: 0 });
  const reading = devices.map(({ device, ramBytes, ramAvailable }) => {
    const own = cluster.devices.find(({ name }) => name === device);
    return (ramBytes - ramAvailable) / (own?.disk.sequential ?? Number.POSITIVE_INFINITY);
  });
  return Math.max(totalSeconds({ ...seconds, disk: 0 }), ...reading);
}

function predicted({ belief, ...rest }: PlanningProblem, plan: Plan, reclaim: 'lru' | 'overflow'): Breakdown {
  return predict({ ...rest, plan, truth: belief, reclaim });
}

/** The longest context for which a plan's KV caches fit, tokens; found by bisection. */
export function longestContext({ cluster, model, workload }: Question, plan: Plan): number {
  const fits = (context: number): boolean => {
    const longer = { ...workload, context, reservedContext: context };
    return predict({ plan, truth: cluster, model, workload: longer, reclaim: 'lru' }).infeasible.length === 0;
  };
  if (fits(MOST_CONTEXT)) return MOST_CONTEXT;
  let [low, high] = [workload.context, MOST_CONTEXT];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}
