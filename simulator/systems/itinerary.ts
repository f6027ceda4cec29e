import type { Plan, Stage } from '../../engine/plan/plan.ts';

/** A stop of a token on its way around the ring: a device, and the stages that it runs there before it moves on. */
export interface Visit {
  readonly device: string;
  /** None at a head that holds no layers: it passes the token on. */
  readonly stages: readonly Stage[];
}

/** A token's way: from the head, which embeds it, over all rounds, back to the head, which runs the output layer. */
export function itinerary({ stages, output }: Plan): Visit[] {
  const head = output.device;
  const visits: { device: string; stages: Stage[] }[] = [];
  for (const stage of stages) {
    const last = visits.at(-1);
    if (last?.device === stage.device) last.stages.push(stage);
    else visits.push({ device: stage.device, stages: [stage] });
  }
  const first = visits[0]?.device;
  const headHoldsLayers = visits.some(({ device }) => device === head);
  return visits.flatMap((visit, index): Visit[] => {
    const startsRound = !headHoldsLayers && visit.device === first;
    const arrivesFromHead = index === 0 && headHoldsLayers && visit.device !== head;
    return startsRound || arrivesFromHead ? [{ device: head, stages: [] }, visit] : [visit];
  });
}
