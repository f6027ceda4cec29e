import type { Plan, Stage } from './plan.ts';

/** The layers that a device runs in one round: `from` up to, not including, `to`. */
export interface Window {
  readonly device: string;
  readonly from: number;
  readonly to: number;
  /** By processor, in order. */
  readonly stages: readonly Stage[];
}

/** The windows of a plan, in the order in which a token visits them: stages of one device that follow each other are one. */
export function windowsOf({ stages }: Pick<Plan, 'stages'>): Window[] {
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
