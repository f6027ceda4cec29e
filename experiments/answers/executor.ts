import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { ringLayout } from './ring-layout.ts';

/** How a plan is carried out here, or why it isn't. */
export type Executor = { readonly kind: 'ring' | 'split' } | { readonly kind: 'none'; readonly reason: string };

/**
 * Chooses what carries a plan out: this machine's CPU and GPU where they share more than whole layers (`split`), otherwise a
 * ring, which may have one device (`ring`).
 */
export function executorOf(plan: Plan, model: Model, file: string): Executor {
  const crosses = plan.stages.some(({ cpuExperts }) => cpuExperts !== undefined);
  if (plan.kind === 'split' && crosses) {
    if (Object.keys(plan.weights).length === 0) return { kind: 'split' };
    return {
      kind: 'none',
      reason: 'plan: weights has policies; with a GPU whose experts are in RAM, none is',
    };
  }
  try {
    ringLayout(plan, model, file);
    return { kind: 'ring' };
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    return { kind: 'none', reason: error.message };
  }
}
