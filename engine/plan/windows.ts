import type { Plan, Stage } from './plan.ts';

/** The layers that a device runs in one round: `from` up to, not including, `to`. */
export interface Window {
  readonly device: string;
  readonly from: number;
  readonly to: number;
}

/** A window with its stages: by processor, in order. */
type StagedWindow = Window & { readonly stages: readonly Stage[] };

/** A plan's windows in the order in which a token visits them: consecutive stages of one device form a window. */
export function windowsOf({ stages }: Pick<Plan, 'stages'>): StagedWindow[] {
  const windows: { device: string; from: number; to: number; stages: Stage[] }[] = [];
  for (const stage of stages) {
    const last = windows.at(-1);
    if (last?.device === stage.device) {
      last.stages.push(stage);
      last.to = stage.to;
    } else windows.push({ device: stage.device, from: stage.from, to: stage.to, stages: [stage] });
  }
  return windows;
}

/** The stages of each device that has any, in the plan's order. */
export function stagesByDevice({ stages }: Plan): ReadonlyMap<string, readonly Stage[]> {
  const byDevice = new Map<string, Stage[]>();
  for (const stage of stages) {
    const own = byDevice.get(stage.device);
    if (own === undefined) byDevice.set(stage.device, [stage]);
    else own.push(stage);
  }
  return byDevice;
}
