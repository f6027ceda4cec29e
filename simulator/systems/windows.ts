import type { Plan, Stage } from '../../engine/plan/plan.ts';

/** A window on a token's path around the ring: the stages that a device runs before the token moves on. */
export interface Window {
  readonly device: string;
  /** Empty at a head that holds no layers and passes the token on, and at the end of the path. */
  readonly stages: readonly Stage[];
  /** The end of the path: the head runs the output layer. */
  readonly output: boolean;
}

/**
 * A token's path: from the head, which embeds it, through all rounds, back to the head, which runs the output layer.
 */
export function windowsOf({ stages, output }: Plan): Window[] {
  const head = output.device;
  const windows: { device: string; stages: Stage[]; output: boolean }[] = [];
  for (const stage of stages) {
    const last = windows.at(-1);
    if (last?.device === stage.device) last.stages.push(stage);
    else windows.push({ device: stage.device, stages: [stage], output: false });
  }
  const first = windows[0]?.device;
  const headHoldsLayers = windows.some(({ device }) => device === head);
  const path = windows.flatMap((window, index): Window[] => {
    const startsRound = !headHoldsLayers && window.device === first;
    const arrivesFromHead = index === 0 && headHoldsLayers && window.device !== head;
    return startsRound || arrivesFromHead ? [{ device: head, stages: [], output: false }, window] : [window];
  });
  return [...path, { device: head, stages: [], output: true }];
}

/**
 * For every window, what its device may prefetch while others compute: its next window, possibly the next token's, and
 * before that the output layer if the head runs it first.
 */
export function nextWindows(windows: readonly Window[]): Window[][] {
  const own = new Map<string, number[]>();
  for (const [index, { device, stages, output }] of windows.entries()) {
    if (stages.length > 0 || output) own.set(device, [...(own.get(device) ?? []), index]);
  }
  const next: Window[][] = windows.map(() => []);
  for (const indices of own.values()) {
    for (const [position, index] of indices.entries()) {
      const following = windows[indices[(position + 1) % indices.length] as number] as Window;
      const first = windows[indices[0] as number] as Window;
      const isLastOfAll = (windows[index] as Window).output && indices.length > 1;
      if (!isLastOfAll) next[index] = following.output && indices.length > 1 ? [following, first] : [following];
    }
  }
  return next;
}
