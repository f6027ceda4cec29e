import { predict } from '../../../engine/cost/predict.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { type HelmCase, workloadOf } from './answer.ts';

/**
 * Seconds of HELM's token by its own formula and numbers, nothing fitted: T̂ = T_plan + N δ̄ (Eqs. 4.7–4.15 and 6.4.4).
 * Undefined for what they aren't for: other systems, first tokens, batches (of which δ̄ says nothing), a part of a token.
 */
export function thesisSeconds(one: HelmCase, plan: Plan): number | undefined {
  const { quantity, cluster, model } = one;
  if (quantity.system !== 'helm' || quantity.kind !== 'token' || quantity.batch > 1) return undefined;
  const workload = workloadOf(one);
  return predict({ plan, truth: cluster, model, workload, formulas: 'roofline', overhead: 'per-block' }).tokenSeconds;
}
