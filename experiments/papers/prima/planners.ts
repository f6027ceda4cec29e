import type { ProgramVersion } from '../../../datasets/testbeds.ts';
import { predict } from '../../../engine/cost/predict.ts';
import { type Plan, planShares } from '../../../engine/plan/plan.ts';
import { ringPlan, type WindowSize } from '../../../engine/plan/ring-plan.ts';
import { memoryRatio } from '../../../engine/schedule/baselines/memory-ratio.ts';
import { singleDevice } from '../../../engine/schedule/baselines/single-device.ts';
import { optimal } from '../../../engine/schedule/exact/optimal.ts';
import { halda } from '../../../engine/schedule/halda/halda.ts';
import { ALGORITHM_1, PRIMA_CPP_APRIL_2025, PRIMA_CPP_JULY_2025 } from '../../../engine/schedule/halda/options.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import { SCHEDULERS, type SchedulerName } from '../../../engine/schedule/registry.ts';
import type { Scheduled, SchedulingProblem } from '../../../engine/schedule/scheduler.ts';

/** A scheduler of the registry, or a variant of one. */
export type Planner = SchedulerName | 'halda-any' | 'halda-line-13' | 'optimum' | 'vram-ratio';

const PROGRAMS = { 'april-2025': PRIMA_CPP_APRIL_2025, 'july-2025': PRIMA_CPP_JULY_2025 } as const;

/** The plan of a planner. @param version of prima.cpp's program */
export function planWith(
  planner: Planner,
  problem: SchedulingProblem,
  version: ProgramVersion,
  solver: IntegerSolver,
): Scheduled {
  switch (planner) {
    case 'halda-program':
      return halda(problem, solver, PROGRAMS[version]);
    case 'halda-line-13':
      return halda(problem, solver, { ...PROGRAMS[version], overloadedDevice: 'another', waitsForRemoval: false });
    case 'halda-any':
      return halda(problem, solver, { ...ALGORITHM_1, overloadedDevice: 'any' });
    case 'optimum':
      return ringOrAlone(problem);
    case 'vram-ratio':
      return memoryRatio(problem, { memory: 'accelerator' });
    default:
      return SCHEDULERS[planner].plan(problem, solver);
  }
}

/**
 * prima.cpp's plan: the faster of two. Either the exact optimum of its objective with the output layer on the head's
 * CPU ("in our implementation", after Eq. 12), made even where several plans are optimal (evenReloads); or llama.cpp on the
 * head alone, to which prima.cpp reduces once all other devices are removed (4.1), with the output layer on the GPU
 * where there is room.
 */
export function ringOrAlone(problem: SchedulingProblem): Scheduled {
  const ring = optimal(problem, { output: 'cpu' });
  const alone = singleDevice(problem);
  if (ring.plan === undefined || alone.plan === undefined) return ring.plan === undefined ? alone : ring;
  const secondsOf = (plan: Plan): number => predict({ ...problem, plan, truth: problem.belief }).tokenSeconds;
  return secondsOf(alone.plan) <= secondsOf(ring.plan) ? alone : { plan: evenReloads(problem, ring.plan) };
}

/** Relative difference due to rounding between sums of the same times in different orders. */
const ROUNDING = 1e-9;

/**
 * A plan as good by the paper's objective as the given one, with reloads spread evenly. Eq. 1 is a sum, so an optimum
 * may put all reloads on one of several equal devices; but in a ring devices read while others compute, and the longest
 * reload is what remains. CPU layers move from the device that reloads longest to another one, as long as the predicted
 * time stays the same and the sum of squared reload times falls. (Algorithm 1 starts evenly as well: in proportion to
 * memory.)
 * @param plan of one round; plans of several rounds are returned unchanged
 */
export function evenReloads(problem: SchedulingProblem, plan: Plan): Plan {
  if (plan.rounds !== 1) return plan;
  let windows: readonly WindowSize[] = planShares(plan).map(({ device, cpuLayers, gpuLayers }) => ({
    device,
    layers: cpuLayers + gpuLayers,
    gpuLayers,
  }));
  let best = judged(problem, plan, windows);
  const limit = best.seconds * (1 + ROUNDING);
  for (;;) {
    const from = best.longest;
    const moved = windows
      .filter(({ device }) => device !== from)
      .map(({ device }) => withMoved(windows, from, device))
      .map((candidate) => ({ candidate, found: judged(problem, plan, candidate) }))
      .filter(({ found }) => found.seconds <= limit && found.squares < best.squares * (1 - ROUNDING))
      .sort((one, other) => one.found.squares - other.found.squares)[0];
    if (moved === undefined) return best.plan;
    windows = moved.candidate;
    best = moved.found;
  }
}

/** The windows with one CPU layer moved between two devices; unchanged where the first has none. */
function withMoved(windows: readonly WindowSize[], from: string, to: string): WindowSize[] {
  const giver = windows.find(({ device }) => device === from);
  const change = giver !== undefined && giver.layers > giver.gpuLayers ? 1 : 0;
  return windows.map((window) => {
    const by = window.device === to ? change : window.device === from ? -change : 0;
    return { ...window, layers: window.layers + by };
  });
}

function judged(problem: SchedulingProblem, like: Plan, windows: readonly WindowSize[]) {
  const { scheduler, rounds, output, embedding } = like;
  const plan = ringPlan({ scheduler, head: embedding.device, rounds, windows, outputProcessor: output.processor });
  const { tokenSeconds, devices } = predict({ ...problem, plan, truth: problem.belief });
  const longest = devices.reduce((most, one) => (one.seconds.disk > most.seconds.disk ? one : most));
  const squares = devices.reduce((sum, { seconds }) => sum + seconds.disk ** 2, 0);
  return { plan, seconds: tokenSeconds, longest: longest.device, squares };
}
