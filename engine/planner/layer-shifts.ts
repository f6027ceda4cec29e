import type { RingPlan, Stage } from '../plan/plan.ts';

/** Layers that are shifted at once, from coarse to fine. */
const STEPS = [8, 4, 2, 1] as const;

/**
 * A ring of one round made faster by shifting layers from one CPU to another, as long as that helps: first eight at a time,
 * then fewer. Rings of several rounds, whose windows repeat, stay as they are.
 * @param secondsOf predicted TPOT, seconds; infinite for plans that can't run
 */
export function withShiftedLayers(start: RingPlan, secondsOf: (plan: RingPlan) => number): RingPlan {
  if (start.rounds > 1) return start;
  let best = { plan: start, seconds: secondsOf(start) };
  for (const step of STEPS)
    for (;;) {
      const [next] = shifted(best.plan, step)
        .map((plan) => ({ plan, seconds: secondsOf(plan) }))
        .sort((one, other) => one.seconds - other.seconds);
      if (next === undefined || next.seconds >= best.seconds) break;
      best = next;
    }
  return best.plan;
}

/** All plans in which one CPU's stage hands so many layers, and not its last, to another's. */
function shifted(plan: RingPlan, layers: number): RingPlan[] {
  const own = plan.stages.flatMap(({ processor }, index) => (processor === 'cpu' ? [index] : []));
  return own.flatMap((giver) => {
    const { from, to } = plan.stages[giver] as Stage;
    if (to - from <= layers) return [];
    return own
      .filter((taker) => taker !== giver)
      .map((taker) => ({
        ...plan,
        stages: resized(
          plan.stages,
          new Map([
            [giver, -layers],
            [taker, layers],
          ]),
        ),
      }));
  });
}

/** Stages with so many layers more, from the first layer on. @param changes layers by the stage's index */
function resized(stages: readonly Stage[], changes: ReadonlyMap<number, number>): Stage[] {
  let at = 0;
  return stages.map((stage, index) => {
    const from = at;
    at += stage.to - stage.from + (changes.get(index) ?? 0);
    return { ...stage, from, to: at };
  });
}
