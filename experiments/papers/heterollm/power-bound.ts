import type { ChipActivity } from '../../../engine/cost/energy.ts';

/** Activity of a system's processors in a prompt, and the watts that it draws. */
export interface PoweredSystem {
  readonly activity: ChipActivity;
  readonly watts: number;
}

/**
 * The least watts that a system can draw compared with two others whose powers are given, whatever the idle chip, GPU
 * and NPU draw: each processor adds the same watts in every system, none adds less than 0, and none adds less while it
 * calculates than while it waits. Powers are the unknowns of two linear equations, so the least is found among the
 * solutions in which at most two of them aren't 0. `undefined` if no powers give the other two.
 */
export function leastWatts(
  activity: ChipActivity,
  [first, second]: readonly [PoweredSystem, PoweredSystem],
): number | undefined {
  const [a, b, c] = [shares(first.activity), shares(second.activity), shares(activity)];
  let least: number | undefined;
  for (let i = 0; i < c.length; i++) {
    for (let j = i + 1; j < c.length; j++) {
      const [ai, aj, bi, bj] = [a[i], a[j], b[i], b[j]] as [number, number, number, number];
      const determinant = ai * bj - aj * bi;
      if (determinant === 0) continue;
      const one = (first.watts * bj - aj * second.watts) / determinant;
      const other = (ai * second.watts - first.watts * bi) / determinant;
      if (one < 0 || other < 0) continue;
      const watts = one * (c[i] as number) + other * (c[j] as number);
      least = Math.min(least ?? watts, watts);
    }
  }
  return least;
}

/** By what each unknown is multiplied: the idle chip; work of the GPU, and arithmetic on top of it; the NPU’s two. */
function shares({ seconds, gpu, npu }: ChipActivity): readonly number[] {
  const of = [gpu, npu].flatMap(({ calculating, waiting }) => [calculating + waiting, calculating]);
  return [1, ...of.map((each) => each / seconds)];
}
