import { type ExpertsPolicy, USUAL_EXPERTS } from '../experts/experts-policy.ts';
import { createPlan } from '../plan/create-plan.ts';
import type { Plan } from '../plan/plan.ts';
import { expertLayersOf } from '../plan/validate-experts.ts';
import { type Candidate, closedFormSeconds } from './candidates.ts';
import { planningProblem, type Question } from './question.ts';

/** Whether a device of a plan caches experts and reads the others when a router chooses them. */
export function cachesExperts({ weights }: Plan): boolean {
  return Object.values(weights).some(({ experts }) => experts !== undefined);
}

/**
 * Candidates in which one device that has all layers of a mixture, more than its memory holds, caches experts: with the policy
 * that is predicted to be the fastest, in place of leaving them to its operating system.
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
  /** Plans that differ in what the policy takes the place of are one. */
  const seen = new Set<string>();
  return found
    .flatMap((candidate) => {
      const { plan } = candidate;
      if (plan.kind !== 'split' || !exceedsMemory(plan)) return [candidate];
      const key = JSON.stringify({ ...plan, scheduler: '', weights: {} });
      if (seen.has(key)) return [];
      seen.add(key);
      const variants = policiesOf(used).map((experts) => {
        const weights = { [plan.output.device]: { prefetch: 'none', release: 'none', experts } } as const;
        const own = createPlan({ ...plan, weights });
        return { plan: own, seconds: closedFormSeconds(problem, own) };
      });
      const [best] = variants.filter(({ seconds }) => Number.isFinite(seconds)).sort(bySeconds);
      return [best ?? candidate];
    })
    .sort(bySeconds);
}

/** Policies that are compared: slots of layers or of all, guesses of the next layer's first experts or none, and mapped experts. */
function policiesOf(used: number): ExpertsPolicy[] {
  const ahead = { kind: 'next-router', ranks: Math.max(1, used >> 1) } as const;
  return [
    USUAL_EXPERTS,
    { ...USUAL_EXPERTS, pool: 'all' },
    { ...USUAL_EXPERTS, lookahead: ahead },
    { ...USUAL_EXPERTS, pool: 'all', lookahead: ahead },
    { ...USUAL_EXPERTS, method: 'mmap', depth: 1, hitsFirst: false },
  ];
}
