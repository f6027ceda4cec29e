import type { Plan, Relay, Stage } from './plan.ts';

/** The layers that a device runs in one round: `from` up to, not including, `to`. */
export interface Window {
  readonly device: string;
  readonly from: number;
  readonly to: number;
  /** Its layers that run on the device's GPU; missing: none. */
  readonly onGpu?: readonly number[];
  /** Its layers whose operators the GPU and NPU of a chip share; missing: none. */
  readonly onNpu?: readonly number[];
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
export function relaysOf(plan: Plan): readonly Relay[] {
  return plan.kind === 'ring' ? (plan.relays ?? []) : [];
}

/** The devices that a token reaches on its way from one device to another: relays, then the destination; none if the two are the same. */
export function stopsBetween(relays: readonly Relay[], from: string, to: string): string[] {
  if (from === to) return [];
  const relay = relays.find((one) => one.from === from && one.to === to);
  return [...(relay?.via ?? []), to];
}

/**
 * The hops of a token, each once: from the head to the first window, from window to window and to the output layer. A
 * head without layers forwards the result of every round, so the hops to it and from it are among them.
 */
export function hopsOf(plan: Plan): (readonly [from: string, to: string])[] {
  const visited = windowsOf(plan).map(({ device }) => device);
  const head = plan.embedding.device;
  const stops = [head, ...visited, plan.output.device];
  const ends = visited.length === 0 ? [] : [visited.at(-1) as string, head, visited[0] as string];
  const hops = [stops, ends].flatMap((way) => way.slice(1).map((to, index) => [way[index] as string, to] as const));
  const distinct = new Map(hops.filter(([from, to]) => from !== to).map((hop) => [hop.join('\n'), hop]));
  return [...distinct.values()];
}
