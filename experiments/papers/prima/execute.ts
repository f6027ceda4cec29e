import type { ProgramVersion } from '../../../datasets/testbeds.ts';
import type { Breakdown } from '../../../engine/cost/breakdown.ts';
import { predict } from '../../../engine/cost/predict.ts';
import type { Runtime } from '../../../engine/cost/runtime.ts';
import { type Cluster, withDevices } from '../../../engine/hardware/cluster.ts';
import type { Model } from '../../../engine/model/model.ts';
import type { Workload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import type { Prefetch } from '../../../engine/plan/weights-policy.ts';
import type { IntegerSolver } from '../../../engine/schedule/integer-solver.ts';
import type { SimulationResult } from '../../../simulator/result.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { besideDraft, type Draft, draftedSeconds, draftTokenSeconds, SPECULATION } from './drafts.ts';
import { type Footprint, footprintsOf } from './footprint.ts';
import { OPERATING_SYSTEMS } from './machines.ts';
import { planWith } from './planners.ts';
import type { SystemPolicy } from './policies.ts';

/** A system on a testbed with a model. */
export interface Job {
  readonly policy: SystemPolicy;
  /** The version of prima.cpp's program. */
  readonly version: ProgramVersion;
  /** The cluster as the scheduler sees it (belief), and as it is (truth). */
  readonly belief: Cluster;
  readonly truth: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  /** Whether the page cache is warm when the prompt comes. */
  readonly warm: boolean;
  /** Buffers of the program. */
  readonly runtime: Runtime;
  /** The model that drafts tokens on the head, if one does. */
  readonly draft?: Draft | undefined;
}

/** A plan with its prediction and simulation; `why` says in one line why there is no plan, or that memory is lacking. */
export interface Execution {
  readonly plan: Plan | undefined;
  readonly predicted: Breakdown | undefined;
  readonly simulated: SimulationResult | undefined;
  readonly why: string;
  /** Whether the plan is the optimum of Eq. 1, since the planner finds none. */
  readonly standsIn?: boolean;
  /** Bytes by device under the program's own formats, where the reading has them. */
  readonly footprints?: ReadonlyMap<string, Footprint>;
}

/** Tokens that are decoded in simulation with drafts, whose acceptance is drawn: `-n 256` of the documented commands. */
const DRAFTED = 256;

/**
 * Plans with the system's planner on what is believed; predicts and simulates the plan on what is true. Where the planner
 * finds no plan, the optimum of Eq. 1 stands in if the reading says so.
 */
export function execute(job: Job, solver: IntegerSolver): Execution {
  const { policy, version, model, workload, runtime, draft } = job;
  const machines = (cluster: Cluster, sees: 'belief' | 'truth'): Cluster => {
    const members = withoutDevices(cluster, policy.leavesOut);
    return draft === undefined ? members : besideDraft(members, draft, sees);
  };
  const [belief, truth] = [machines(job.belief, 'belief'), machines(job.truth, 'truth')];
  const problem = { belief, model, workload, runtime };
  const own = planWith(policy.planner, problem, version, solver);
  const standsIn = own.plan === undefined && policy.standIn === true;
  const scheduled = standsIn ? planWith('optimum', problem, version, solver) : own;
  if (scheduled.plan === undefined)
    return { plan: undefined, predicted: undefined, simulated: undefined, why: scheduled.message };
  const plan = withPrefetch(scheduled.plan, policy.prefetch);
  const answers = answersOf({ ...job, belief, truth }, plan);
  const { predicted, simulated } = answers;
  const lacking = predicted.infeasible[0]?.reason ?? simulated.outOfMemory[0]?.reason ?? '';
  return {
    plan,
    ...answers,
    standsIn,
    ...(policy.footprint && { footprints: footprintsOf(policy.footprint, { plan, cluster: truth, model }) }),
    why: standsIn ? `${own.message}; the optimum of Eq. 1 stands in` : lacking,
  };
}

/** The cluster without the devices of these names; as it is where it has none of them. */
function withoutDevices(cluster: Cluster, names: readonly string[] = []): Cluster {
  const kept = cluster.devices.map(({ name }) => name).filter((name) => !names.includes(name));
  return kept.length === cluster.devices.length ? cluster : withDevices(cluster, kept);
}

/** The two answers for a plan. */
function answersOf(
  { policy, belief, truth, model, workload, runtime, warm, draft }: Job,
  plan: Plan,
): { readonly predicted: Breakdown; readonly simulated: SimulationResult } {
  const reclaiming = policy.reclaiming ?? OPERATING_SYSTEMS;
  const predictedFor = (verifiedTokens: number): Breakdown =>
    predict({ plan, truth, model, workload, reclaim: reclaiming.predicted, runtime, verifiedTokens });
  const one = predictedFor(1);
  const draftSeconds = draft && draftTokenSeconds(belief, draft, workload);
  const predicted =
    draftSeconds === undefined
      ? one
      : { ...one, tokenSeconds: draftedSeconds(draftSeconds, (tokens) => predictedFor(tokens).tokenSeconds) };
  const simulated = simulate({
    cluster: truth,
    model,
    plan,
    workload: draft === undefined ? workload : { ...workload, outputTokens: DRAFTED },
    runtime,
    warm,
    reclaim: reclaiming.simulated,
    context: 'fixed',
    record: 'tokens',
    ...(draftSeconds !== undefined && { speculation: { ...SPECULATION, draftSeconds } }),
  });
  return { predicted, simulated };
}

/** The plan with one way to prefetch on every device; as it is where none is given. */
export function withPrefetch(plan: Plan, prefetch: Prefetch | undefined): Plan {
  if (prefetch === undefined) return plan;
  const weights = Object.entries(plan.weights).map(([device, policy]) => [device, { ...policy, prefetch }]);
  return { ...plan, weights: Object.fromEntries(weights) };
}
