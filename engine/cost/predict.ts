import type { Cluster } from '../hardware/cluster.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Plan } from '../plan/plan.ts';
import { validatePlan } from '../plan/validate-plan.ts';
import type { Breakdown } from './breakdown.ts';
import { createRingPredictor, type RingPredictionOptions } from './predict-ring.ts';

export interface Prediction extends RingPredictionOptions {
  readonly plan: Plan;
  /** What the devices really have; a scheduler plans on its belief, which may differ. */
  readonly truth: Cluster;
  readonly model: Model;
  readonly workload: Workload;
}

/**
 * The predicted TPOT of a plan, taken apart.
 * @throws InputError if the plan doesn't fit cluster and model
 */
export function predict({ plan, truth, model, workload, ...options }: Prediction): Breakdown {
  validatePlan(plan, truth, model);
  return createRingPredictor(truth, model, workload, options)(plan);
}
