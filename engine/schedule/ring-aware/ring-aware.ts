import { createRingPredictor } from '../../cost/ring.ts';
import { createRingCosts, type RingCosts } from '../../cost/ring-costs.ts';
import type { Plan } from '../../plan/plan.ts';
import { ringPlan } from '../../plan/ring-plan.ts';
import type { Prefetch } from '../../plan/weights-policy.ts';
import { optimal } from '../exact/optimal.ts';
import { divisors, noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { assignWindows, createOthers, type RingAwareAssignment, type WindowsProblem } from './assign.ts';

/** How `ring-aware` ranks plans, and which it may choose. */
export interface RingAwareOptions {
  /** Seconds per token of a plan by simulation, infinite if it can't run; without it the predicted time decides. */
  readonly simulated?: (plan: Plan) => number;
  /** Number of plans that are simulated, those with the least predicted time. */
  readonly candidates?: number;
  /** Granularity of the page cache, bytes: decides how much memory pinning leaves free. */
  readonly extentBytes?: number;
}

/** A plan that was compared with others. */
export interface ConsideredPlan {
  readonly plan: Plan;
  /** By assignWindows' closed form; undefined for plans of `optimal`, which reclaim otherwise. */
  readonly predictedSeconds: number | undefined;
  /** undefined without a simulation. */
  readonly simulatedSeconds: number | undefined;
}

/** The best plan, and all that were considered, the best first. */
export type RingAwareResult = Scheduled & { readonly considered: readonly ConsideredPlan[] };

const DEFAULT_CANDIDATES = 10;
/** Calibrated: the extents of the simulator's page cache, with which it fits measurements on Linux 6.18. */
const DEFAULT_EXTENT_BYTES = 4 * 2 ** 20;
/** Factors on the extents for which pinning leaves memory free; the simulation decides which is best. */
const EXTENT_FACTORS = [0, 0.5, 2, 8];

/**
 * Rounds, devices, windows, GPU layers and pinned bytes for a ring whose devices manage their memory themselves: they
 * read the next window while others compute, keep a fixed part of their weights and give the rest back. prima.cpp's
 * objective (Eq. 1) leaves out this overlap, which is what makes more than one round worthwhile. Every round has the
 * same windows, as in Eq. 3.
 *
 * For every k, assignWindows finds the exact optimum of a closed form. With `simulated`, the best of these, the very
 * best with more and with less pinned, and the plan of `optimal` with and without prefetching are ranked by simulated
 * time, so that the result is never slower than `optimal`, as far as that keeps to the limit to memory pressure. The problem's reclaim policy matters to `optimal` only:
 * plans of this scheduler leave nothing to reclaim.
 */
export function ringAware(problem: SchedulingProblem, options: RingAwareOptions = {}): RingAwareResult {
  const { simulated, candidates = DEFAULT_CANDIDATES, extentBytes = DEFAULT_EXTENT_BYTES } = options;
  const reference = optimal(problem);
  if (reference.plan === undefined) return { ...reference, considered: [] };
  const costs = createRingCosts(problem.belief, problem.model, problem.workload, problem.runtime);
  const judge = (assignment: RingAwareAssignment): Judged => {
    const plan = planOf(costs, assignment);
    return { assignment, plan, predictedSeconds: assignment.seconds, simulatedSeconds: simulated?.(plan) };
  };
  const { maxPressure } = problem;
  const assignments = bestAssignments({ costs, extentBytes, maxPressure });
  if (assignments.length === 0) return { ...noPlan('fits-nowhere', overPressure(problem)), considered: [] };
  if (simulated === undefined) return resultOf(assignments.map(judge));

  const starts = assignments.slice(0, candidates).map(judge).sort(byTime);
  const { rounds, output } = (starts[0] as Judged).assignment;
  const variants = EXTENT_FACTORS.map((factor) =>
    assignWindows({ costs, rounds, output, extentBytes: factor * extentBytes, maxPressure }),
  )
    .filter((assignment) => assignment !== undefined)
    .map(judge);
  const references = (['willneed', 'none'] as const).map((prefetch): ConsideredPlan => {
    const plan = withPrefetch(reference.plan, prefetch);
    return { plan, predictedSeconds: undefined, simulatedSeconds: simulated(plan) };
  });
  return resultOf([...starts, ...variants, ...references.filter(({ plan }) => keepsPressure(problem, plan))]);
}

interface Judged extends ConsideredPlan {
  readonly assignment: RingAwareAssignment;
}

function resultOf(considered: readonly ConsideredPlan[]): RingAwareResult {
  const sorted = considered
    .map(({ plan, predictedSeconds, simulatedSeconds }) => ({ plan, predictedSeconds, simulatedSeconds }))
    .sort(byTime);
  return { plan: (sorted[0] as ConsideredPlan).plan, considered: sorted };
}

/** The best assignment for every number of rounds and place of the output layer, by rising predicted time. */
function bestAssignments(problem: Omit<WindowsProblem, 'rounds'>): RingAwareAssignment[] {
  const { costs } = problem;
  const outputs = costs.devices[0]?.gpu === undefined ? (['cpu'] as const) : (['cpu', 'gpu'] as const);
  return divisors(costs.layers)
    .flatMap((rounds) => {
      const others = createOthers({ ...problem, rounds });
      return outputs.map((output) => assignWindows({ ...problem, rounds, output }, others));
    })
    .filter((assignment) => assignment !== undefined)
    .sort((one, other) => one.seconds - other.seconds);
}

/** Whether no device of a plan exceeds the limit to memory pressure. */
function keepsPressure({ belief, model, workload, runtime, maxPressure }: SchedulingProblem, plan: Plan): boolean {
  if (maxPressure === undefined) return true;
  const { devices } = createRingPredictor(belief, model, workload, runtime && { runtime })(plan);
  return devices.every(({ device, nonReclaimableBytes }) => {
    const installed = belief.devices.find(({ name }) => name === device)?.memory.total ?? 0;
    return nonReclaimableBytes <= maxPressure * installed;
  });
}

function overPressure({ model, maxPressure = 1 }: SchedulingProblem): string {
  const limit = `${Number((100 * maxPressure).toPrecision(3))} %`;
  return `KV cache and buffers of ${model.name} exceed ${limit} of some RAM wherever its layers go; allow more memory pressure, or take a shorter context`;
}

/** The plan of `optimal` under this scheduler's name, with prefetching or without. */
function withPrefetch(plan: Plan, prefetch: Prefetch): Plan {
  const weights = Object.entries(plan.weights).map(([device, policy]) => [device, { ...policy, prefetch }]);
  return { ...plan, scheduler: 'ring-aware', weights: Object.fromEntries(weights) };
}

/** By simulated time, if there is one, else by predicted time; plans that are equal, or can't run, keep their order. */
function byTime(one: ConsideredPlan, other: ConsideredPlan): number {
  const [first, second] = [one, other].map(
    ({ predictedSeconds, simulatedSeconds }) => simulatedSeconds ?? predictedSeconds ?? Number.POSITIVE_INFINITY,
  ) as [number, number];
  return first === second ? 0 : first - second;
}

/** The plan of an assignment, with the weights policy of each device that holds layers. */
function planOf({ devices }: RingCosts, { rounds, output, windows }: RingAwareAssignment): Plan {
  const head = devices[0]?.name ?? '';
  const plan = ringPlan({ scheduler: 'ring-aware', head, rounds, windows, outputProcessor: output });
  const holders = windows.filter(({ layers }) => layers > 0);
  return { ...plan, weights: Object.fromEntries(holders.map(({ device, policy }) => [device, policy])) };
}
