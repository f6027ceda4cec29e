import { totalSeconds } from '../cost/breakdown.ts';
import { predict } from '../cost/predict.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../experts/experts-policy.ts';
import { createPlan } from '../plan/create-plan.ts';
import type { Plan, SplitPlan } from '../plan/plan.ts';
import { expertLayersOf } from '../plan/validate-experts.ts';
import { type Candidate, closedFormSeconds } from './candidates.ts';
import { type PlanningProblem, planningProblem, type Question } from './question.ts';

/**
 * Candidates in which one device that has all layers of a mixture, more than its memory holds, caches experts: with the policy
 * that is predicted to be the fastest, in place of leaving them to its operating system. Of several such devices the fastest is
 * a candidate, and reading ahead is tried on it alone.
 * @param exceedsMemory whether a plan reads weights from a disk for every token
 */
export function withExperts(
  { cluster, model, workload }: Question,
  found: readonly Candidate[],
  exceedsMemory: (plan: Plan) => boolean,
): Candidate[] {
  if (model.layer.routed.length === 0) return [...found];
  const problem = planningProblem({ belief: cluster, model, workload });
  const { used } = expertLayersOf(model, 0, model.layers);
  const bySeconds = (one: Candidate, other: Candidate): number => one.seconds - other.seconds;
  const cached = (plan: SplitPlan, experts: ExpertsPolicy): Candidate => {
    const weights = { [plan.output.device]: { prefetch: 'none', release: 'none', experts } } as const;
    const own = createPlan({ ...plan, weights });
    return { plan: own, seconds: closedFormSeconds(problem, own) };
  };
  /** Plans that differ in what the policy takes the place of are one. */
  const seen = new Set<string>();
  /** The fastest that reads nothing: caching experts can't make up for what a plan takes without its disks. */
  const inMemory = Math.min(...found.filter(({ plan }) => !exceedsMemory(plan)).map(({ seconds }) => seconds));
  const left: Candidate[] = [];
  const caching: Candidate[] = [];
  for (const candidate of found) {
    const { plan } = candidate;
    const key = JSON.stringify({ ...plan, scheduler: '', weights: {} });
    if (plan.kind !== 'split' || !exceedsMemory(plan) || computingSeconds(problem, plan) >= inMemory)
      left.push(candidate);
    else if (!seen.has(key)) {
      seen.add(key);
      const variants = POLICIES.map((experts) => cached(plan, experts)).filter(({ seconds }) =>
        Number.isFinite(seconds),
      );
      const [best] = variants.sort(bySeconds);
      if (best === undefined) left.push(candidate);
      else caching.push(best);
    }
  }
  const [first] = caching.sort(bySeconds);
  if (first === undefined) return left.sort(bySeconds);
  const ahead = aheadOf(first, used);
  const variants = ahead === undefined ? [first] : [first, cached(first.plan as SplitPlan, ahead)];
  return [...left, variants.sort(bySeconds)[0] as Candidate].sort(bySeconds);
}

/** Seconds of a token's way through a plan whose weights are all in memory. */
function computingSeconds({ belief, model, workload, runtime }: PlanningProblem, plan: Plan): number {
  const { seconds } = predict({ plan, truth: belief, model, workload, runtime, reclaim: 'overflow' });
  return totalSeconds({ ...seconds, disk: 0 });
}

/** Policies that are compared: slots of each layer or of all, and mapped experts. */
const POLICIES: readonly ExpertsPolicy[] = [
  USUAL_EXPERTS,
  { ...USUAL_EXPERTS, pool: 'all' },
  { ...USUAL_EXPERTS, method: 'mmap', depth: 1, hitsFirst: false },
];

/** A plan's policy with guesses of the next layer's first experts; `undefined` for mapped ones. */
function aheadOf({ plan }: Candidate, used: number): ExpertsPolicy | undefined {
  const policy = plan.weights[plan.output.device]?.experts;
  if (policy === undefined || policy.method === 'mmap') return undefined;
  return { ...policy, lookahead: { kind: 'next-router', ranks: Math.max(1, used >> 1) } };
}
