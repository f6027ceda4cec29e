import type { PublishedCell } from '../../datasets/published.ts';
import { type PublishedTpot, publishedTpot } from '../../datasets/published-systems.ts';
import type { ProgramVersion } from '../../datasets/testbeds.ts';
import type { Breakdown } from '../../engine/cost/breakdown.ts';
import { hasOverlappedForm, type OverlappedPrediction, predictOverlapped } from '../../engine/cost/overlap.ts';
import { predict } from '../../engine/cost/predict.ts';
import type { ReclaimPolicy } from '../../engine/cost/reclaim.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { hasUnifiedGpu } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { IntegerSolver } from '../../engine/schedule/integer-solver.ts';
import type { SchedulerName } from '../../engine/schedule/registry.ts';
import type { Scheduled } from '../../engine/schedule/scheduler.ts';
import { planWith } from '../papers/prima/planners.ts';
import type { OwnScheduler } from './own-scheduler.ts';
import type { SimulatedTpot } from './simulated.ts';

/** A requested model: in the catalogue's mix of formats, or in another. */
export interface SweptModel {
  readonly label: string;
  readonly model: Model;
  /** The mix is the catalogue's, which is what the papers ran. */
  readonly asPublished: boolean;
}

/** One cluster's part of a sweep. */
export interface SweepCase {
  readonly truth: Cluster;
  readonly belief: Cluster;
  readonly models: readonly SweptModel[];
  readonly schedulers: readonly SchedulerName[];
  /** A scheduler from a file, after the others. */
  readonly ownScheduler?: OwnScheduler | undefined;
  /** A plan from a file, judged on the models that have as many layers. */
  readonly handPlan?: Plan | undefined;
  /** How a paper's testbed was set for a model and a scheduler; what this case says, unless given. */
  readonly settings?: ((model: Model, scheduler: string) => Partial<Setting>) | undefined;
  readonly workload: Workload;
  readonly reclaim: ReclaimPolicy;
  readonly believedReclaim?: ReclaimPolicy | undefined;
  /** See SchedulingProblem. */
  readonly maxPressure?: number | undefined;
  readonly solver: IntegerSolver;
  /** Empty if nothing was published for the cluster. */
  readonly published: readonly PublishedCell[];
  /** Simulates the plans; they have no simulated time without. */
  readonly simulatedTpot?: SimulatedTpot;
}

export type Outcome =
  | {
      readonly status: 'planned';
      readonly plan: Plan;
      readonly breakdown: Breakdown;
      /** `undefined` for plans without a closed form with overlap. */
      readonly overlapped: OverlappedPrediction | undefined;
      readonly memory: MemoryTotal;
      /** TPOT by simulation, seconds; `undefined` if the simulated run ends for want of memory. */
      readonly simulatedSeconds: number | undefined;
    }
  /** The devices can't run the plan, since the scheduler's belief was wrong or it ignores memory. */
  | { readonly status: 'unrunnable'; readonly plan: Plan; readonly reason: string; readonly message: string }
  | { readonly status: 'no-plan' | 'skipped'; readonly reason: string; readonly message: string };

/** Bytes over all devices; a GPU without memory of its own counts as RAM. */
export interface MemoryTotal {
  readonly ramBytes: number;
  readonly vramBytes: number;
  /** The most memory pressure of a device: bytes that can't be reclaimed over its RAM (prima.cpp 4.3). */
  readonly pressure: number;
}

export interface SweepRow {
  readonly cluster: string;
  readonly model: SweptModel;
  readonly scheduler: string;
  readonly outcome: Outcome;
  /** Wall-clock seconds that planning took here: a measurement, the only number that differs between runs. */
  readonly planningSeconds: number | undefined;
  readonly published: PublishedTpot | undefined;
}

/** Devices beyond which one integer program over all of them takes minutes. */
const MILP_DEVICES = 6;

/** Runs every scheduler on every model and predicts each plan on the true cluster; `step` is called for every run. */
export function sweepCluster(given: SweepCase, step: (label: string) => void = () => {}): SweepRow[] {
  const rows: SweepRow[] = [];
  for (const model of given.models) {
    const add = (scheduler: string, { outcome, planningSeconds }: Timed): void => {
      const cluster = given.truth.name;
      rows.push({
        cluster,
        model,
        scheduler,
        outcome,
        planningSeconds,
        published: publishedOf(given, model, scheduler),
      });
    };
    for (const scheduler of [...given.schedulers, ...(given.ownScheduler ? [given.ownScheduler] : [])]) {
      const name = typeof scheduler === 'string' ? scheduler : scheduler.name;
      step(`${given.truth.name}: ${name}, ${model.label}`);
      add(name, schedule({ ...given, ...given.settings?.(model.model, name) }, model.model, scheduler));
    }
    const { handPlan } = given;
    if (handPlan?.stages.at(-1)?.to === model.model.layers) {
      const setting = { ...given, ...given.settings?.(model.model, 'hand') };
      add('hand', { outcome: judge(setting, model.model, { plan: handPlan }), planningSeconds: undefined });
    }
  }
  return rows;
}

/** Stands for a scheduler: `optimal`, told what the devices have. */
export const INFORMED = 'optimal, informed';

/**
 * Rows of `optimal` planning for what the devices have, one per model, where the schedulers are shown something else:
 * what the truth would allow.
 */
export function informedRows(given: SweepCase): SweepRow[] {
  return given.models.flatMap((model): SweepRow[] => {
    const setting: Setting = { ...given, ...given.settings?.(model.model, 'optimal') };
    const { truth, belief, reclaim } = setting;
    if (JSON.stringify(truth.devices) === JSON.stringify(belief.devices)) return [];
    const timed = schedule({ ...setting, belief: truth, believedReclaim: reclaim }, model.model, 'optimal');
    return [{ cluster: given.truth.name, model, scheduler: INFORMED, ...timed, published: undefined }];
  });
}

interface Timed {
  readonly outcome: Outcome;
  readonly planningSeconds: number | undefined;
}

export type Setting = Pick<
  SweepCase,
  'truth' | 'belief' | 'workload' | 'reclaim' | 'maxPressure' | 'solver' | 'simulatedTpot'
> & {
  /** Buffers; the default's unless given. */
  readonly runtime?: Runtime;
  /** The version of prima.cpp's program, for halda-program; the last one unless given. */
  readonly version?: ProgramVersion;
  /** How the schedulers believe that the OS reclaims; as their papers do unless given. */
  readonly believedReclaim?: ReclaimPolicy | undefined;
};

/** Plans with one scheduler on the belief, timing it, and predicts the plan on the truth. */
export function schedule(given: Setting, model: Model, scheduler: SchedulerName | OwnScheduler): Timed {
  const { belief, workload, believedReclaim, maxPressure, runtime, version = 'july-2025', solver } = given;
  if (scheduler === 'milp' && belief.devices.length > MILP_DEVICES) {
    const message = `milp is tried on at most ${MILP_DEVICES} devices, ${belief.name} has ${belief.devices.length}: one program over all of them takes minutes; optimal finds the same time`;
    return { outcome: { status: 'skipped', reason: 'too many devices', message }, planningSeconds: undefined };
  }
  const start = performance.now();
  const problem = {
    belief,
    model,
    workload,
    ...(believedReclaim && { reclaim: believedReclaim }),
    ...(maxPressure !== undefined && { maxPressure }),
    ...(runtime && { runtime }),
  };
  const scheduled =
    typeof scheduler === 'string' ? planWith(scheduler, problem, version, solver) : scheduler.plan(problem, solver);
  const planningSeconds = (performance.now() - start) / 1000;
  return { outcome: judge(given, model, scheduled), planningSeconds };
}

function judge(
  { truth, workload, reclaim, runtime, simulatedTpot }: Setting,
  model: Model,
  scheduled: Scheduled,
): Outcome {
  if (scheduled.plan === undefined) {
    return { status: 'no-plan', reason: scheduled.reason.replaceAll('-', ' '), message: scheduled.message };
  }
  const { plan } = scheduled;
  const asked = { plan, truth, model, workload, reclaim, ...(runtime && { runtime }) };
  const breakdown = predict(asked);
  const [shortage] = breakdown.infeasible;
  if (shortage === undefined) {
    const overlapped = hasOverlappedForm(plan) ? predictOverlapped(asked) : undefined;
    const simulatedSeconds = simulatedTpot?.(asked);
    return { status: 'planned', plan, breakdown, overlapped, memory: memoryTotal(breakdown, truth), simulatedSeconds };
  }
  return { status: 'unrunnable', plan, reason: `${shortage.memory.toUpperCase()} too small`, message: shortage.reason };
}

function memoryTotal({ devices }: Breakdown, truth: Cluster): MemoryTotal {
  const installed = new Map(truth.devices.map(({ name, memory }) => [name, memory.total]));
  const unified = new Set(truth.devices.filter(hasUnifiedGpu).map(({ name }) => name));
  return {
    ramBytes: devices.reduce((sum, { ramBytes }) => sum + ramBytes, 0),
    vramBytes: devices.reduce((sum, { device, vramBytes }) => sum + (unified.has(device) ? 0 : vramBytes), 0),
    pressure: Math.max(
      ...devices.map(({ device, nonReclaimableBytes }) => nonReclaimableBytes / (installed.get(device) as number)),
    ),
  };
}

function publishedOf({ published, truth }: SweepCase, { model, asPublished }: SweptModel, scheduler: string) {
  if (!asPublished) return undefined;
  return publishedTpot(published, { scheduler, cluster: truth.name, model: model.name });
}

/**
 * Checks that a sweep has something to report.
 * @throws InputError if no scheduler found a plan, or if `optimal` found none and no other plan can run; the message
 * gives the reason of `optimal`, or the first reason without it
 */
export function requirePlan(rows: readonly SweepRow[]): void {
  const reasons = rows.flatMap(({ cluster, scheduler, outcome }) =>
    outcome.status === 'no-plan' || outcome.status === 'skipped'
      ? [{ cluster, scheduler, message: outcome.message }]
      : [],
  );
  const exact = reasons.find(({ scheduler }) => scheduler === 'optimal');
  const told = exact ?? reasons[0];
  const isHopeless = exact !== undefined && rows.every(({ outcome }) => outcome.status !== 'planned');
  if (told === undefined || (reasons.length < rows.length && !isHopeless)) return;
  throw new InputError(`cluster ${told.cluster}`, `no scheduler finds a plan; ${told.scheduler}: ${told.message}`);
}
