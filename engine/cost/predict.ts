import type { Cluster } from '../hardware/cluster.ts';
import { InputError } from '../input/input-error.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Plan } from '../plan/plan.ts';
import { validatePlan } from '../plan/validate-plan.ts';
import type { Breakdown } from './breakdown.ts';
import { createChipPredictor } from './chip/predict-chip.ts';
import { createExpertParallelPredictor } from './expert-parallel.ts';
import { createRingPredictor, type RingPredictionOptions } from './ring.ts';
import { createSplitPredictor, type SplitPredictionOptions } from './split.ts';
import { createTensorPredictor } from './tensor-parallel.ts';

/** A plan to predict, and the devices and model that it is for. */
interface PredictedPlan {
  readonly plan: Plan;
  /** The real devices; a scheduler plans on its belief, which may differ. */
  readonly truth: Cluster;
  readonly model: Model;
  readonly workload: Workload;
}

/**
 * `ring`: prima.cpp's formulas, extended to tensor and expert parallelism, layer streaming and chips with an NPU, for every kind
 * of plan. `roofline`: HELM's formulas, for plans without those. Each has its own options.
 */
export type Prediction = PredictedPlan &
  (
    | ({ readonly formulas?: 'ring' } & RingPredictionOptions)
    | ({ readonly formulas: 'roofline' } & SplitPredictionOptions)
  );

/**
 * The predicted TPOT of a plan, broken down.
 * @throws InputError if the plan doesn't fit cluster and model, or the formulas don't cover it or the phase
 */
export function predict(prediction: Prediction): Breakdown {
  const { plan, truth, model, workload } = prediction;
  validatePlan(plan, truth, model);
  if (prediction.formulas === 'roofline') return createSplitPredictor(truth, model, workload, prediction)(plan);
  switch (plan.kind) {
    case 'ring':
    case 'split':
      return createRingPredictor(truth, model, workload, prediction)(plan);
    case 'tensor-parallel':
      if (prediction.phase === 'prefill')
        throw new InputError('phase', 'prefill is not predicted for plans that cut tensors; simulate them');
      return createTensorPredictor(truth, model, workload, prediction)(plan);
    case 'expert-parallel':
      if (prediction.phase === 'prefill')
        throw new InputError('phase', 'prefill is not predicted for plans that divide experts; simulate them');
      return createExpertParallelPredictor(truth, model, workload, prediction)(plan);
    case 'chip':
      return createChipPredictor(truth, model, workload, prediction)(plan);
  }
}
