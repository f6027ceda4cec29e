import { hasOverlappedForm, predictOverlapped } from '../engine/cost/overlap.ts';
import { predict } from '../engine/cost/predict.ts';
import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import type { Device } from '../engine/hardware/device.ts';
import { createPlan } from '../engine/plan/create-plan.ts';
import type { Plan } from '../engine/plan/plan.ts';
import { singleDevice } from '../engine/schedule/baselines/single-device.ts';
import { optimal } from '../engine/schedule/exact/optimal.ts';
import { cpuGpuSplit } from '../engine/schedule/helm/cpu-gpu-split.ts';
import { helmRing } from '../engine/schedule/helm/ring.ts';
import { ringAware } from '../engine/schedule/ring-aware/ring-aware.ts';
import type { Scheduled, SchedulingProblem } from '../engine/schedule/scheduler.ts';
import { tensorPartition } from '../engine/schedule/tensor-partition/tensor-partition.ts';
import { withChips } from '../engine/schedule/tensor-partition/with-chips.ts';
import { plansInEveryOrder } from '../engine/schedule/with-relays.ts';
import { believed, believedBesidePageTables } from './belief.ts';
import { fastestAlone } from './fastest-alone.ts';
import { type PlanningProblem, planningProblem } from './question.ts';
import { tensorCuts } from './tensor-cuts.ts';

/** A plan and its predicted TPOT in seconds. */
export interface Candidate {
  readonly plan: Plan;
  readonly seconds: number;
}

/** Plans by `ring-aware` that are compared: the best for this many numbers of rounds and places of the output layer. */
const RING_AWARE_PLANS = 5;

/**
 * The plans that are worth comparing for a model on a cluster, the fastest by closed form first: those of the schedulers
 * that need no integer program and never plan more than memory holds, with every device as the head, in every order that
 * makes a difference; or only one that nothing can be faster than (fastestAlone). Neither names nor the order in which
 * devices are listed change their times. Plans that can't run are left out.
 * @param problem its belief is what devices report
 * @param head the head; every device in turn unless given
 */
export function candidates(problem: SchedulingProblem, head?: string): Candidate[] {
  const planning = planningProblem(problem);
  const seen = new Set<string>();
  const rings = ringsOf(problem.belief, head);
  const secondsOf = (plan: Plan): number => closedFormSeconds(planning, plan);
  const alone = fastestAlone(planning, rings.map(believed), secondsOf);
  return rings
    .flatMap((ring) => {
      const own = { ...planning, belief: ring };
      const whole =
        alone === undefined ? plansInEveryOrder(own, (ordered) => plansOf({ ...own, ...ordered })) : [alone];
      return [...whole, ...tensorCuts({ ...own, belief: believed(ring) })];
    })
    .filter((plan) => {
      const key = JSON.stringify({ ...plan, scheduler: '' });
      return !seen.has(key) && seen.add(key);
    })
    .map((plan) => ({ plan, seconds: secondsOf(plan) }))
    .filter(({ seconds }) => Number.isFinite(seconds))
    .sort((one, other) => one.seconds - other.seconds);
}

/**
 * The cluster with each device that may be the head in the first place, the others sorted by their properties. Only one of
 * several equal devices is tried, if all have the same links.
 */
function ringsOf(cluster: Cluster, head: string | undefined): Cluster[] {
  const { links } = cluster;
  const texts = new Map(cluster.devices.map((device) => [device, hardwareText(device)]));
  const textOf = (device: Device | undefined): string => (device && texts.get(device)) ?? '';
  const sorted = cluster.devices.toSorted((one, other) => compareTexts(textOf(one), textOf(other)));
  const isUniform = links.pairs.size === 0 && links.unreachable === undefined;
  const heads = sorted.filter(
    (device, index) =>
      (head === undefined || device.name === head) &&
      !(head === undefined && isUniform && index > 0 && textOf(device) === textOf(sorted[index - 1])),
  );
  return heads.map((first) =>
    createCluster({ ...cluster, devices: [first, ...sorted.filter((device) => device !== first)] }),
  );
}

/** Everything known about a device except its name. */
function hardwareText(device: Device): string {
  return JSON.stringify({ ...device, name: '', description: '' });
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function plansOf(problem: PlanningProblem): Plan[] {
  const belief = believed(problem.belief);
  const given = { ...problem, belief };
  const managed = withChips((beside, cut) => {
    const result = ringAware(beside);
    return { ...result, considered: result.considered.map((one) => ({ ...one, plan: cut(one.plan) })) };
  });
  const besidePageTables = { ...problem, belief: believedBesidePageTables(problem.belief) };
  const inMemory = withChips((beside) => optimal({ ...beside, reclaim: 'lru' }));
  return [
    ...managed(besidePageTables).considered.slice(0, RING_AWARE_PLANS),
    withChips((beside) => optimal({ ...beside, reclaim: 'overflow' }))(given),
    // The margin is the most that mapped weights take; plans that need less are found without it.
    ...[given, besidePageTables, problem].map(inMemory),
    helmRing(given),
    ...crossedExperts(given),
    singleDevice(given),
    tensorPartition(given),
  ].flatMap(({ plan }) => (plan === undefined ? [] : [plan]));
}

/**
 * The head alone with the experts of some GPU layers on its CPU, by HELM's search; none for a dense model, and where whole
 * layers are better.
 */
function crossedExperts(problem: PlanningProblem): Scheduled[] {
  const { belief, model } = problem;
  const [head] = belief.devices;
  if (model.layer.routed.length === 0 || head?.gpu === undefined) return [];
  const { plan, best } = cpuGpuSplit(problem, { formulas: 'sum', kvCache: 'with-layers' });
  if (plan === undefined || best?.cpuExperts === undefined) return [];
  // By these formulas it doesn't matter where tokens are embedded; programs do it on the CPU.
  return [{ plan: createPlan({ ...plan, embedding: { device: head.name, processor: 'cpu' } }) }];
}

/**
 * Predicted TPOT of a plan, seconds: with overlap for a ring (predictOverlapped), the papers' sum for the other kinds of
 * plans (predict), both under `lru`, which is what Linux and macOS do, in the memory that is believed to be left after
 * mapped weights. Infinite for plans that can't run.
 * @param problem its belief is what devices report
 * @param verifiedTokens γ + 1: the seconds are those of a pass that verifies this many tokens (speculation.ts)
 */
export function closedFormSeconds(problem: SchedulingProblem, plan: Plan, verifiedTokens = 1): number {
  const { belief, model, workload, runtime } = planningProblem(problem);
  const asked = { plan, model, workload, runtime, verifiedTokens, reclaim: 'lru' } as const;
  const { infeasible, tokenSeconds } = predict({ ...asked, truth: believed(belief) });
  if (infeasible.length > 0) return Number.POSITIVE_INFINITY;
  if (!hasOverlappedForm(plan)) return tokenSeconds;
  return predictOverlapped({ ...asked, truth: believedBesidePageTables(belief) }).tokenSeconds;
}
