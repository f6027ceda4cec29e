import type { RingPlan, Stage } from '../plan/plan.ts';

/** Layers that are shifted at once, from coarse to fine. */
const STEPS = [8, 3, 1] as const;

/**
 * A ring of one round made faster by shifting layers from one CPU to another, as long as that helps: first eight at a time,
 * then fewer. Rings of several rounds, whose windows repeat, stay as they are.
 * @param secondsOf predicted TPOT, seconds; infinite for plans that can't run
 */
export function withShiftedLayers(start: RingPlan, secondsOf: (plan: RingPlan) => number): RingPlan {
  if (start.rounds > 1) return start;
  let best = { plan: start, seconds: secondsOf(start) };
  const tried = new Set<string>();
  /** Takes each shift that helps, one after another. @returns whether one did */
  const isBettered = (step: number): boolean => {
    const before = best;
    for (const pair of pairsOf(start)) {
      const plan = shifted(best.plan, pair, step);
      const key = plan?.stages.map(({ to }) => to).join();
      if (plan === undefined || key === undefined || tried.has(key)) continue;
      tried.add(key);
      const seconds = secondsOf(plan);
      if (seconds < best.seconds) best = { plan, seconds };
    }
    return best !== before;
  };
  for (const step of STEPS) while (isBettered(step));
  return best.plan;
}

/** Stages on CPUs, by index: one that gives layers, and one that takes them. */
type Pair = readonly [giver: number, taker: number];

function pairsOf({ stages }: RingPlan): Pair[] {
  const own = stages.flatMap(({ processor }, index) => (processor === 'cpu' ? [index] : []));
  return own.flatMap((giver) => own.filter((taker) => taker !== giver).map((taker): Pair => [giver, taker]));
}

/** The plan in which a stage hands so many layers to another; `undefined` if it has no more than these. */
function shifted(plan: RingPlan, [giver, taker]: Pair, layers: number): RingPlan | undefined {
  const { from, to } = plan.stages[giver] as Stage;
  if (to - from <= layers) return undefined;
  const changes = new Map([
    [giver, -layers],
    [taker, layers],
  ]);
  return { ...plan, stages: resized(plan.stages, changes) };
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
