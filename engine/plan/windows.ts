import type { Plan, Stage } from './plan.ts';

/** The layers that a device runs in one round: `from` up to, not including, `to`. */
export interface Window {
  readonly device: string;
  readonly from: number;
  readonly to: number;
  /** Its layers that run on the device's GPU; missing: none. */
  readonly onGpu?: readonly number[];
}

/** A window with its stages: by processor, in order. */
export interface StagedWindow extends Window {
  readonly stages: readonly Stage[];
}

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

/** The relays of a plan; only rings have any. */
export function relaysOf(plan: Plan): readonly string[] {
  return plan.kind === 'ring' ? (plan.relays ?? []) : [];
}

/**
 * The devices that a token reaches on its way from one device to another: the relays between the two in ring order,
 * then the destination; none if the two are the same.
 * @param ring names of all devices, in ring order
 */
export function stopsBetween(ring: readonly string[], relays: readonly string[], from: string, to: string): string[] {
  if (from === to) return [];
  if (relays.length === 0) return [to];
  const start = ring.indexOf(from);
  const onward = [...ring.slice(start + 1), ...ring.slice(0, start)];
  return [...onward.slice(0, onward.indexOf(to)).filter((device) => relays.includes(device)), to];
}
