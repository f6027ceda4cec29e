import type { Model } from '../../engine/model/model.ts';
import type { Plan } from '../../engine/plan/plan.ts';

/** S: bytes of the weights that a device maps, with the output layer on the head. */
export function shareBytes(plan: Plan, model: Model, device: string): number {
  const own = plan.stages.filter((stage) => stage.device === device);
  const layers = own.reduce((sum, { from, to }) => sum + to - from, 0) * model.layer.bytes;
  return layers + (plan.output.device === device ? model.output.bytes : 0);
}
