import { createPlan } from './create-plan.ts';
import type { Plan, Stage } from './plan.ts';

/** The same plan with a stage for each layer, so that a trace shows memory after each layer. */
export function layerByLayer(plan: Plan): Plan {
  const whole: readonly Stage[] = plan.stages;
  const stages = whole.flatMap((stage) =>
    Array.from({ length: stage.to - stage.from }, (_, index) => ({
      ...stage,
      from: stage.from + index,
      to: stage.from + index + 1,
    })),
  );
  return createPlan({ ...plan, stages });
}
