import { MEMORY_REGIMES, type MemoryRegime, randomCluster } from '../../datasets/random-cluster.ts';
import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import { optimal } from '../../engine/schedule/exact/optimal.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import { SCHEDULERS, type SchedulerName } from '../../engine/schedule/registry.ts';
import type { SchedulingProblem } from '../../engine/schedule/scheduler.ts';

/** The result of one scheduler on one random cluster. */
export interface GapRow {
  readonly seed: number;
  readonly devices: number;
  readonly regime: MemoryRegime;
  readonly model: string;
  readonly scheduler: SchedulerName;
  /** Least TPOT of all plans, seconds. */
  readonly optimum: number;
  /** Least TPOT in the paper's space: the head holds a layer, and the output layer is on its CPU (Eqs. 2, 12). */
  readonly paperOptimum: number;
  /** TPOT of the scheduler's plan, seconds; undefined where it found none, or one that can't run. */
  readonly seconds: number | undefined;
  /** Why there is no time. */
  readonly reason: string;
}

export interface GapSettings {
  readonly clusters: number;
  readonly seed: number;
  readonly least: number;
  readonly most: number;
  readonly models: readonly Model[];
  readonly schedulers: readonly SchedulerName[];
  readonly workload: Workload;
  readonly reclaim: ReclaimPolicy;
}

/** Relative distance from the optimum that counts as a hit: sums in different orders differ by rounding. */
export const HIT = 1e-9;

/** Plans for one random cluster with every scheduler. Cluster `index` depends only on the seed and the index. */
export function gapOf(index: number, settings: GapSettings, solver: IntegerSolver): GapRow[] {
  const seed = settings.seed + index;
  const stream = randomStream(seed, 'gap');
  const devices = stream.integer(settings.least, settings.most);
  const regime = stream.pick(Object.keys(MEMORY_REGIMES) as MemoryRegime[]);
  const model = stream.pick(settings.models);
  const belief = randomCluster({ seed, devices, regime, modelBytes: model.bytes });
  const { workload, reclaim } = settings;
  const problem: SchedulingProblem = { belief, model, workload, reclaim };
  const predict = createRingPredictor(belief, model, workload, { reclaim });
  const secondsOf = (plan: Plan | undefined): number =>
    plan === undefined ? Number.POSITIVE_INFINITY : predict(plan).tokenSeconds;
  const optimum = secondsOf(optimal(problem).plan);
  if (optimum === Number.POSITIVE_INFINITY) return []; // Without any plan there is no optimum to miss.
  const paperOptimum = secondsOf(optimal(problem, { output: 'cpu', headLayers: 'must' }).plan);
  return settings.schedulers.map((scheduler) => {
    const common = { seed, devices, regime, model: model.name, scheduler, optimum, paperOptimum };
    const scheduled = SCHEDULERS[scheduler].plan(problem, solver);
    if (scheduled.plan === undefined) return { ...common, seconds: undefined, reason: scheduled.message };
    const { tokenSeconds, infeasible } = predict(scheduled.plan);
    if (infeasible[0] !== undefined) return { ...common, seconds: undefined, reason: infeasible[0].reason };
    return { ...common, seconds: tokenSeconds, reason: '' };
  });
}

/** The results of one scheduler over all clusters. */
export interface GapSummary {
  readonly scheduler: SchedulerName;
  readonly clusters: number;
  /** Clusters for which it found a plan that can run. */
  readonly planned: number;
  /** Clusters on which it reached the optimum of all plans, and that of the paper's space. */
  readonly hits: number;
  readonly paperHits: number;
  /** Clusters where it is below the optimum, which means a defect of the exact planner. */
  readonly beats: number;
  /** Quantiles of T / optimum − 1 over the clusters for which it found a plan. */
  readonly median: number;
  readonly p95: number;
  readonly worst: number;
}

export function summariseGap(scheduler: SchedulerName, rows: readonly GapRow[]): GapSummary {
  const own = rows.filter((row) => row.scheduler === scheduler);
  const gaps = own
    .flatMap((row) => (row.seconds === undefined ? [] : [row.seconds / row.optimum - 1]))
    .sort((a, b) => a - b);
  const at = (share: number): number => gaps[Math.max(0, Math.ceil(share * gaps.length) - 1)] ?? Number.NaN;
  return {
    scheduler,
    clusters: own.length,
    planned: gaps.length,
    hits: gaps.filter((gap) => gap <= HIT).length,
    paperHits: own.filter((row) => row.seconds !== undefined && row.seconds <= row.paperOptimum * (1 + HIT)).length,
    beats: gaps.filter((gap) => gap < -HIT).length,
    median: at(0.5),
    p95: at(0.95),
    worst: at(1),
  };
}
