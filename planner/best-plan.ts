import type { Breakdown } from '../engine/cost/breakdown.ts';
import { predict } from '../engine/cost/predict.ts';
import { createPlan } from '../engine/plan/create-plan.ts';
import { cachesExperts, type Plan } from '../engine/plan/plan.ts';
import { FIT_POLICY, type WeightsPolicy } from '../engine/plan/weights-policy.ts';
import { believed } from './belief.ts';
import { type Candidate, candidates, closedFormSeconds } from './candidates.ts';
import { withExperts } from './expert-plans.ts';
import { leastSeconds } from './least-seconds.ts';
import { planningProblem, type Question } from './question.ts';
import { simulatedTokenSeconds } from './simulated-times.ts';

/** A plan, and the time that ranks it. */
export interface RankedPlan {
  readonly plan: Plan;
  /** Predicted TPOT by closed form, seconds. */
  readonly predictedSeconds: number;
  /** TPOT in seconds: simulated, or predicted where nothing is simulated. */
  readonly seconds: number;
}

/** How plans are ranked. */
export interface BestPlansOptions {
  /** Whether plans are ranked by simulation, or by closed form. */
  readonly simulates: boolean;
  /** Whether `carried` is looked for; it isn't unless given. */
  readonly carried?: boolean;
}

/**
 * The fastest plan of whole layers, and the fastest that cuts tensors among devices; `undefined` where none can run, and
 * where cuts are provably no faster than whole layers.
 */
export interface BestPlans {
  readonly whole: RankedPlan | undefined;
  readonly cut: RankedPlan | undefined;
  /** The fastest plan of whole layers that some program can run, if none can run `whole` (isUncarried); else `undefined`. */
  readonly carried: RankedPlan | undefined;
}

/**
 * The fastest of all candidates, by simulation or by closed form; of equals the first. Those that provably aren't the
 * fastest are not simulated. Where the fastest reads weights from disks, how each of its devices keeps and reads them is
 * tried in other ways too (`refined`), since closed forms differ from the simulation there.
 */
export function bestPlans(question: Question, { simulates, carried: seeks = false }: BestPlansOptions): BestPlans {
  const { cluster: belief, model, workload, head } = question;
  const planned = candidates({ belief, model, workload }, head);
  const found = withExperts(question, planned, (plan) => memoryOf(question, plan));
  const best = (plans: readonly Candidate[], limit = Number.POSITIVE_INFINITY): RankedPlan | undefined =>
    simulates ? fastest(question, plans, limit) : plans.map(rankedByForm)[0];
  const layered = found.filter(({ plan }) => plan.kind !== 'tensor-parallel');
  const whole = best(layered);
  const cuts = found.filter(({ plan }) => plan.kind === 'tensor-parallel');
  const carried =
    seeks && whole !== undefined && isUncarried(whole.plan)
      ? best(layered.filter(({ plan }) => !isUncarried(plan)))
      : undefined;
  return { whole, cut: best(cuts, whole?.seconds), carried };
}

/** Whether no program can run a plan of whole layers: a ring whose devices cache experts, with layers on a GPU. */
function isUncarried(plan: Plan): boolean {
  return plan.kind === 'ring' && cachesExperts(plan) && plan.stages.some(({ processor }) => processor === 'gpu');
}

/** The faster of two plans, the first of equal ones; `undefined` if there is none. */
export function faster(one: RankedPlan | undefined, other: RankedPlan | undefined): RankedPlan | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return other.seconds < one.seconds ? other : one;
}

/**
 * The fastest in simulation. Plans that cache experts compete by closed form first, since no simulation of them is short;
 * those that win are simulated then.
 * @param limit seconds of a plan that is known already
 */
function fastest(question: Question, found: readonly Candidate[], limit: number): RankedPlan | undefined {
  const ranked: RankedPlan[] = [];
  for (const { plan, seconds: predictedSeconds } of found) {
    if (leastSeconds(question, plan) >= Math.min(limit, ...ranked.slice(0, 1).map(mostSeconds))) continue;
    const isPlayed = isSimulated(question, plan) && !cachesExperts(plan);
    const seconds = isPlayed ? simulatedTokenSeconds(question, plan) : predictedSeconds;
    ranked.push({ plan, predictedSeconds, seconds });
    ranked.sort((one, other) => one.seconds - other.seconds);
  }
  const plans: RankedPlan[] = [];
  for (const one of ranked.slice(0, REFINED_PLANS))
    plans.push(refined(question, one, Math.min(one.seconds, ...plans.map(mostSeconds))));
  return fastestSimulated(question, plans);
}

/** The fastest plan where those that cache experts aren't simulated yet: they are simulated until one of the others is faster. */
function fastestSimulated(question: Question, plans: readonly RankedPlan[]): RankedPlan | undefined {
  const best = plans.reduce<RankedPlan | undefined>(faster, undefined);
  if (best === undefined || !cachesExperts(best.plan)) return best;
  const simulated = { ...best, seconds: simulatedTokenSeconds(question, best.plan) };
  const others = plans.filter((one) => one !== best && one.seconds < simulated.seconds);
  return faster(fastestSimulated(question, others), simulated);
}

/** Share by which the simulation of a plan that caches experts may be slower than its closed form, at most; found on random homes. */
const UNSIMULATED = 0.1;

const mostSeconds = ({ plan, seconds }: RankedPlan): number => (cachesExperts(plan) ? 1 + UNSIMULATED : 1) * seconds;

/** Whether a plan can be simulated: experts that devices read from their disks aren't where no policy says how. */
export function isSimulated(question: Question, plan: Plan): boolean {
  return (
    question.model.layer.routed.length === 0 || cachesExperts(plan) || memoryOf(question, plan).reloadedBytes === 0
  );
}

/** Plans whose weights policies are varied: the fastest ones as planned. */
const REFINED_PLANS = 4;

const rankedByForm = ({ plan, seconds }: Candidate): RankedPlan => ({ plan, predictedSeconds: seconds, seconds });

/** How a device may keep and read weights that exceed its memory: as much as fits stays, the rest is read ahead or not. */
const POLICIES: readonly WeightsPolicy[] = [{ ...FIT_POLICY, prefetch: 'none' }, FIT_POLICY];

/** Times that differ by a smaller share are equal. */
const EQUAL_SHARE = 1e-9;

/**
 * A plan with the fastest weights policy of each device that reads from its disk for every token, one device after another; of
 * equal ones that which fits what is pinned to the memory there is, so that it holds where that is a little less.
 * @param limit seconds that it is compared with: a plan that can't be faster stays as it is
 */
function refined(question: Question, start: RankedPlan, limit: number): RankedPlan {
  const { cluster, model, workload } = question;
  if (start.plan.kind !== 'ring' && start.plan.kind !== 'split') return start;
  if (!isSimulated(question, start.plan) || cachesExperts(start.plan)) return start;
  const problem = planningProblem({ belief: cluster, model, workload });
  const reading = memoryOf(question, start.plan)
    .devices.filter(
      ({ device, reloadedBytes }) => reloadedBytes > 0 || start.plan.weights[device]?.release === 'pinned',
    )
    .map(({ device }) => device);
  const withPolicy = (plan: Plan, devices: readonly string[], policy: WeightsPolicy): Plan =>
    createPlan({ ...plan, weights: { ...plan.weights, ...Object.fromEntries(devices.map((one) => [one, policy])) } });
  const others = POLICIES.map((policy) => withPolicy(start.plan, reading, policy));
  if (reading.length === 0 || leastSeconds(question, start.plan, others) >= limit) return start;
  return reading.reduce(
    (best, device) =>
      POLICIES.reduce((fastest, policy) => {
        const plan = withPolicy(best.plan, [device], policy);
        const limit = fastest.seconds * (1 + EQUAL_SHARE);
        if (leastSeconds(question, plan) > limit) return fastest;
        const seconds = simulatedTokenSeconds(question, plan);
        if (seconds > limit) return fastest;
        return { plan, seconds, predictedSeconds: closedFormSeconds(problem, plan) };
      }, best),
    start,
  );
}

/** The prediction of a plan in the memory that is believed to be left after page tables, under `lru`. */
export function memoryOf({ cluster, model, workload }: Question, plan: Plan): Breakdown {
  const { belief, runtime } = planningProblem({ belief: cluster, model, workload });
  return predict({ plan, truth: believed(belief), model, workload, runtime, reclaim: 'lru' });
}
