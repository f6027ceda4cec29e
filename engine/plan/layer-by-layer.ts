import { createPlan } from './create-plan.ts';
import type { Plan, Stage } from './plan.ts';

/** The same plan, asking for its layers one by one: what is in memory can be looked at after each. */
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
