import type { Plan, Stage } from './plan.ts';

/** The stages of every device that has any, in the order of the plan. */
export function stagesByDevice({ stages }: Plan): ReadonlyMap<string, readonly Stage[]> {
  const byDevice = new Map<string, Stage[]>();
  for (const stage of stages) {
    const own = byDevice.get(stage.device);
    if (own === undefined) byDevice.set(stage.device, [stage]);
    else own.push(stage);
  }
  return byDevice;
}
