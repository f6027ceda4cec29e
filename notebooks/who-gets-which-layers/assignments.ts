import { predict } from '../../engine/cost/predict.ts';
import { createRingCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Model } from '../../engine/model/model.ts';
import { createWorkload } from '../../engine/model/workload.ts';
import { type Plan, planShares } from '../../engine/plan/plan.ts';
import { ringPlan } from '../../engine/plan/ring-plan.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import { windowTable } from '../../engine/schedule/exact/window-table.ts';
import { halda } from '../../engine/schedule/halda/halda.ts';
import { ALGORITHM_1, ALGORITHM_1_REPAIRED } from '../../engine/schedule/halda/options.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import type { Scheduled, SchedulingProblem } from '../../engine/schedule/scheduler.ts';

export const SCHEDULER_LABELS = {
  halda: 'Halda as printed',
  'halda-repaired': 'Halda repaired',
  optimal: 'the exact optimum',
} as const;
export type LessonScheduler = keyof typeof SCHEDULER_LABELS;

/** The layers of a device in a whole token. */
export interface Share {
  readonly layers: number;
  readonly gpuLayers: number;
}

export interface Assignment {
  readonly scheduler: LessonScheduler;
  /** Predicted TPOT; `undefined` if there is no plan, which `problem` then explains. */
  readonly tokenSeconds: number | undefined;
  readonly problem: string;
  readonly rounds: number;
  /** By device, in ring order. */
  readonly shares: readonly Share[];
}

/** One pass of Halda's loop (Algorithm 1). */
export interface Step {
  readonly devices: readonly string[];
  /** From which the sets follow: layers of a window, by device. */
  readonly windows: readonly number[];
  /** M1–M4 by device: only M4 has memory enough. */
  readonly sets: readonly string[];
  /** Rounds and objective (s) of every program that has a solution. */
  readonly tried: readonly { readonly rounds: number; readonly seconds: number }[];
  /** The best so far: rounds and windows, and its objective, s. */
  readonly best: { readonly rounds: number; readonly windows: readonly number[]; readonly seconds: number } | undefined;
  /** The device that calibration forces into M4. */
  readonly forced: string | undefined;
}

/** A step on the way from one plan to another. */
export interface PathPoint {
  /** The change that the step makes; the start for the first. */
  readonly what: string;
  readonly tokenSeconds: number;
  readonly shares: readonly Share[];
}

export interface Assigned {
  readonly devices: readonly string[];
  readonly layers: number;
  readonly assignments: readonly Assignment[];
  readonly steps: Readonly<Record<'halda' | 'halda-repaired', readonly Step[]>>;
  /** Seconds of each device for a token by its layers, at the best division between its GPU and CPU. */
  readonly curves: readonly (readonly number[])[];
  /** From Halda's plan as printed to the optimum; empty if one is missing. */
  readonly path: readonly PathPoint[];
}

const CONTEXT = 1024;

/**
 * Three assignments of a model's layers to a cluster, Halda's passes, and the landscape between them. Reclaim is
 * `overflow`, as in prima.cpp's cost model: a token reloads what exceeds the memory.
 */
export function assign(belief: Cluster, model: Model, solver: IntegerSolver): Assigned {
  const problem: SchedulingProblem = { belief, model, workload: createWorkload({ context: CONTEXT }) };
  const printed = halda(problem, solver, ALGORITHM_1);
  const repaired = halda(problem, solver, ALGORITHM_1_REPAIRED);
  const exact = optimal(problem);
  const secondsOf = (plan: Plan): number =>
    predict({ plan, truth: belief, model, workload: problem.workload, reclaim: 'overflow' }).tokenSeconds;
  const assignmentOf = (scheduler: LessonScheduler, scheduled: Scheduled): Assignment => {
    const { plan } = scheduled;
    if (plan === undefined)
      return { scheduler, tokenSeconds: undefined, problem: scheduled.message, rounds: 0, shares: [] };
    const shares = sharesOf(plan, belief);
    return { scheduler, tokenSeconds: secondsOf(plan), problem: '', rounds: plan.rounds, shares };
  };
  const assignments = [
    assignmentOf('halda', printed),
    assignmentOf('halda-repaired', repaired),
    assignmentOf('optimal', exact),
  ];
  const costs = createRingCosts(belief, model, problem.workload);
  return {
    devices: belief.devices.map(({ name }) => name),
    layers: model.layers,
    assignments,
    steps: { halda: stepsOf(printed), 'halda-repaired': stepsOf(repaired) },
    curves: costs.devices.map((device, index) => Array.from(windowTable(costs, device, choicesOf(costs, index)))),
    path: printed.plan && exact.plan ? pathBetween(belief, printed.plan, exact.plan, secondsOf) : [],
  };
}

function sharesOf(plan: Plan, { devices }: Cluster): Share[] {
  const shares = new Map(planShares(plan).map((share) => [share.device, share]));
  return devices.map(({ name }) => {
    const { cpuLayers = 0, gpuLayers = 0 } = shares.get(name) ?? {};
    return { layers: cpuLayers + gpuLayers, gpuLayers };
  });
}

function stepsOf({ iterations }: ReturnType<typeof halda>): Step[] {
  return iterations.map(({ devices, windows, sets, tried, best, forced }) => ({
    devices,
    windows,
    sets,
    tried: tried.flatMap(({ rounds, solution }) =>
      solution === undefined ? [] : [{ rounds, seconds: solution.objective }],
    ),
    best: best && { rounds: best.rounds, windows: best.windows, seconds: best.objective },
    forced,
  }));
}

/** The head may compute the output layer on its GPU. */
function choicesOf(costs: RingCosts, index: number) {
  const outputs = costs.devices[0]?.gpu === undefined ? (['cpu'] as const) : (['cpu', 'gpu'] as const);
  return { rounds: 1, reclaim: 'overflow' as const, outputs: index === 0 ? outputs : undefined };
}

/** Changes one thing at a time: first the rounds, then what a GPU computes, then who has a layer, then the output. */
function pathBetween(belief: Cluster, from: Plan, to: Plan, secondsOf: (plan: Plan) => number): PathPoint[] {
  const [start, target] = [sharesOf(from, belief), sharesOf(to, belief)];
  const names = belief.devices.map(({ name }) => name);
  const path: PathPoint[] = [{ what: 'Halda as printed', tokenSeconds: secondsOf(from), shares: start }];
  let shares: readonly Share[] = start;
  let output = from.output.processor;
  const step = (what: string, change: Partial<Record<number, Share>> = {}): void => {
    shares = shares.map((share, index) => change[index] ?? share);
    const windows = names.map((device, index) => ({ device, ...(shares[index] as Share) }));
    const head = from.embedding.device;
    const plan = ringPlan({ scheduler: 'optimal', head, rounds: 1, windows, outputProcessor: output });
    path.push({ what, tokenSeconds: secondsOf(plan), shares });
  };
  const lacking = (index: number): number => (target[index] as Share).layers - (shares[index] as Share).layers;
  if (from.rounds !== 1) step('one round');
  for (const [index, name] of names.entries()) {
    const most = Math.min((target[index] as Share).gpuLayers, (shares[index] as Share).layers);
    for (let own = shares[index] as Share; own.gpuLayers !== most; own = shares[index] as Share) {
      const by = Math.sign(most - own.gpuLayers);
      const what = by > 0 ? `a layer of ${name} from CPU to GPU` : `a layer of ${name} from GPU to CPU`;
      step(what, { [index]: { ...own, gpuLayers: own.gpuLayers + by } });
    }
  }
  while (shares.some((_, index) => lacking(index) !== 0)) {
    const indices = names.map((_, index) => index).sort((one, other) => lacking(one) - lacking(other));
    const [giver, taker] = [indices[0] as number, indices.at(-1) as number];
    const [gives, takes] = [shares[giver] as Share, shares[taker] as Share];
    step(`a layer from ${names[giver]} to ${names[taker]}`, {
      [giver]: { layers: gives.layers - 1, gpuLayers: Math.min(gives.gpuLayers, gives.layers - 1) },
      [taker]: {
        layers: takes.layers + 1,
        gpuLayers: takes.gpuLayers + (takes.gpuLayers < (target[taker] as Share).gpuLayers ? 1 : 0),
      },
    });
  }
  if (output !== to.output.processor) {
    output = to.output.processor;
    step(`the output layer to the ${output.toUpperCase()}`);
  }
  return path;
}
