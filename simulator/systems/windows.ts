import type { Plan, Stage } from '../../engine/plan/plan.ts';

/** A stop of a token on its way around the ring: a device, and the stages that it runs there before it moves on. */
export interface Visit {
  readonly device: string;
  /** None at a head that holds no layers and passes the token on, and at the end of the way. */
  readonly stages: readonly Stage[];
  /** The end of the way: the head runs the output layer. */
  readonly output: boolean;
}

/** A token's way: from the head, which embeds it, over all rounds, back to the head, which runs the output layer. */
export function itinerary({ stages, output }: Plan): Visit[] {
  const head = output.device;
  const visits: { device: string; stages: Stage[]; output: boolean }[] = [];
  for (const stage of stages) {
    const last = visits.at(-1);
    if (last?.device === stage.device) last.stages.push(stage);
    else visits.push({ device: stage.device, stages: [stage], output: false });
  }
  const first = visits[0]?.device;
  const headHoldsLayers = visits.some(({ device }) => device === head);
  const way = visits.flatMap((visit, index): Visit[] => {
    const startsRound = !headHoldsLayers && visit.device === first;
    const arrivesFromHead = index === 0 && headHoldsLayers && visit.device !== head;
    return startsRound || arrivesFromHead ? [{ device: head, stages: [], output: false }, visit] : [visit];
  });
  return [...way, { device: head, stages: [], output: true }];
}

/**
 * For every visit, what its device may fetch while others compute: its next window, be it the next token's, and before
 * that the output layer if the head's turn to run it comes first.
 */
export function nextVisits(visits: readonly Visit[]): Visit[][] {
  const own = new Map<string, number[]>();
  for (const [index, { device, stages, output }] of visits.entries()) {
    if (stages.length > 0 || output) own.set(device, [...(own.get(device) ?? []), index]);
  }
  const next: Visit[][] = visits.map(() => []);
  for (const indices of own.values()) {
    for (const [position, index] of indices.entries()) {
      const following = visits[indices[(position + 1) % indices.length] as number] as Visit;
      const first = visits[indices[0] as number] as Visit;
      const isLastOfAll = (visits[index] as Visit).output && indices.length > 1;
      if (!isLastOfAll) next[index] = following.output && indices.length > 1 ? [following, first] : [following];
    }
  }
  return next;
}
