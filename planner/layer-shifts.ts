import type { RingPlan, Stage } from '../engine/plan/plan.ts';

/** Layers that are shifted at once: all of a stage's, then from coarse to fine, and all again; all if a stage has fewer. */
const STEPS = [Number.POSITIVE_INFINITY, 8, 3, 1, Number.POSITIVE_INFINITY] as const;

/**
 * A ring of one round made faster by shifting layers from one stage to another, as long as that helps. A stage may lose
 * all of its layers, and one without layers may get some; one of two stages that exchange layers is on a CPU. Rings of
 * several rounds, whose windows repeat, stay as they are.
 * @param stages those of the ring, and among them those without layers (`from` = `to`) that may get some
 * @param secondsOf predicted TPOT, seconds; infinite for plans that can't run; at least `limit` for those that take as long
 */
export function withShiftedLayers(
  start: RingPlan,
  stages: readonly Stage[],
  secondsOf: (plan: RingPlan, limit: number) => number,
): RingPlan {
  if (start.rounds > 1) return start;
  let best = {
    plan: start,
    counts: stages.map(({ from, to }) => to - from),
    seconds: secondsOf(start, Number.POSITIVE_INFINITY),
  };
  const tried = new Set([best.counts.join()]);
  /** Takes each shift that helps, one after another. @returns whether one did */
  const isBettered = (step: number): boolean => {
    const before = best;
    for (const pair of pairsOf(stages)) {
      const counts = shifted(best.counts, pair, step);
      const key = counts?.join();
      if (counts === undefined || key === undefined || tried.has(key)) continue;
      tried.add(key);
      const plan = { ...start, stages: withCounts(stages, counts) };
      const seconds = secondsOf(plan, best.seconds);
      if (seconds < best.seconds) best = { plan, counts, seconds };
    }
    return best !== before;
  };
  for (const step of STEPS) while (isBettered(step));
  return best.plan;
}

/** Stages by index: one that gives layers, and one that takes them. */
type Pair = readonly [giver: number, taker: number];

function pairsOf(stages: readonly Stage[]): Pair[] {
  const isOnCpu = (index: number): boolean => stages[index]?.processor === 'cpu';
  return stages.flatMap((_, giver) =>
    stages.flatMap((_, taker): Pair[] =>
      taker !== giver && (isOnCpu(giver) || isOnCpu(taker)) ? [[giver, taker]] : [],
    ),
  );
}

/** Layers of each stage after one hands a number of them to another; `undefined` if it has none. */
function shifted(counts: readonly number[], [giver, taker]: Pair, layers: number): number[] | undefined {
  const handed = Math.min(layers, counts[giver] as number);
  if (handed === 0) return undefined;
  return counts.map((count, index) => (index === giver ? count - handed : index === taker ? count + handed : count));
}

/** Stages with the given numbers of layers, from the first layer on; stages without layers are omitted. */
function withCounts(stages: readonly Stage[], counts: readonly number[]): Stage[] {
  let at = 0;
  return stages.flatMap((stage, index) => {
    const from = at;
    at += counts[index] as number;
    return at > from ? [{ ...stage, from, to: at }] : [];
  });
}
