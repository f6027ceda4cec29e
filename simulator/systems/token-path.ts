import type { Plan, Stage } from '../../engine/plan/plan.ts';
import { windowsOf } from '../../engine/plan/windows.ts';

/** A place on a token's path around the ring: a window, or the head between windows. */
export interface Stop {
  readonly device: string;
  /** The stages of the window. Empty at a head that holds no layers and passes the token on, and at the end of the path. */
  readonly stages: readonly Stage[];
  /** The end of the path: the head runs the output layer. */
  readonly output: boolean;
}

/**
 * A token's path: from the head, which embeds it, through the windows of all rounds, back to the head, which runs the
 * output layer.
 */
export function tokenPath(plan: Plan): Stop[] {
  const head = plan.output.device;
  const windows = windowsOf(plan);
  const first = windows[0]?.device;
  const headHoldsLayers = windows.some(({ device }) => device === head);
  const path = windows.flatMap(({ device, stages }, index): Stop[] => {
    const window = { device, stages, output: false };
    const startsRound = !headHoldsLayers && device === first;
    const arrivesFromHead = index === 0 && headHoldsLayers && device !== head;
    return startsRound || arrivesFromHead ? [{ device: head, stages: [], output: false }, window] : [window];
  });
  return [...path, { device: head, stages: [], output: true }];
}

/**
 * For every stop, where the weights are needed that its device may prefetch while others compute: its next window,
 * possibly the next token's, and before that the output layer if the head runs it first.
 */
export function nextStops(path: readonly Stop[]): Stop[][] {
  const own = new Map<string, number[]>();
  for (const [index, { device, stages, output }] of path.entries()) {
    if (stages.length > 0 || output) own.set(device, [...(own.get(device) ?? []), index]);
  }
  const next: Stop[][] = path.map(() => []);
  for (const indices of own.values()) {
    for (const [position, index] of indices.entries()) {
      const following = path[indices[(position + 1) % indices.length] as number] as Stop;
      const first = path[indices[0] as number] as Stop;
      const isLastOfAll = (path[index] as Stop).output && indices.length > 1;
      if (!isLastOfAll) next[index] = following.output && indices.length > 1 ? [following, first] : [following];
    }
  }
  return next;
}
