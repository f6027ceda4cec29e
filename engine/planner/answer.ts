import type { DeviceBreakdown } from '../cost/breakdown.ts';
import { predict } from '../cost/predict.ts';
import type { Model } from '../model/model.ts';
import type { Plan } from '../plan/plan.ts';
import { optimal } from '../schedule/exact/optimal.ts';
import { candidates } from './candidates.ts';
import type { Question } from './question.ts';
import { type SimulatedTimes, simulatedTimes } from './simulated-times.ts';

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

/** Plans that are simulated: the best by closed form. */
const SIMULATED_PLANS = 4;
/** No model of the catalogue is trained for more. */
const MOST_CONTEXT = 131_072;

/**
 * The best plan for a model on a cluster: the fastest in simulation among the best candidates, or, without a simulation,
 * the fastest by closed form.
 */
export function answer(question: Question, { simulates }: { readonly simulates: boolean }): Answer {
  const { cluster, model, workload } = question;
  const problem = { belief: cluster, model, workload };
  const found = candidates(problem);
  if (found.length === 0) {
    const scheduled = optimal(problem);
    const reason = scheduled.plan === undefined ? scheduled.message : `no plan of ${model.name} fits ${cluster.name}`;
    return { status: 'does-not-fit', model, reason };
  }
  const judged = found.slice(0, simulates ? SIMULATED_PLANS : 1).map(({ plan, seconds }) => ({
    plan,
    predictedSeconds: seconds,
    simulated: simulates ? simulatedTimes(question, plan) : undefined,
  }));
  const [best] = judged.toSorted((one, other) => shownSeconds(one) - shownSeconds(other));
  const chosen = best as (typeof judged)[number];
  const { devices, reloadedBytes } = predict({ plan: chosen.plan, truth: cluster, model, workload, reclaim: 'lru' });
  return {
    ...chosen,
    status:
      reloadedBytes > 0 || chosen.plan.stages.some(({ streamed }) => streamed !== undefined)
        ? 'from-disk'
        : 'in-memory',
    model,
    reloadedBytes,
    devices,
    longestContext: longestContext(question, chosen.plan),
  };
}

/** The time that ranks a plan: simulated where it was simulated. */
function shownSeconds({ predictedSeconds, simulated }: Pick<RunnableAnswer, 'predictedSeconds' | 'simulated'>): number {
  return simulated?.tokenSeconds ?? predictedSeconds;
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
