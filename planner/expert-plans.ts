import { type Breakdown, totalSeconds } from '../engine/cost/breakdown.ts';
import { predict } from '../engine/cost/predict.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../engine/experts/experts-policy.ts';
import type { Cluster } from '../engine/hardware/cluster.ts';
import type { Model } from '../engine/model/model.ts';
import { createPlan } from '../engine/plan/create-plan.ts';
import type { Plan, RingPlan, SplitPlan, Stage } from '../engine/plan/plan.ts';
import { expertLayersOf } from '../engine/plan/validate-experts.ts';
import { stagesByDevice } from '../engine/plan/windows.ts';
import { type Candidate, closedFormSeconds } from './candidates.ts';
import { withShiftedLayers } from './layer-shifts.ts';
import { type PlanningProblem, planningProblem, type Question } from './question.ts';

/**
 * Candidates in which the devices that don't hold their part of a mixture cache experts: with the policy that is predicted to
 * be the fastest, in place of leaving them to their operating systems. The fastest on one device and the fastest ring are
 * candidates, and reading ahead is tried on these alone. Candidates in which no policy can run stay as they are.
 * @param memoryOf the prediction of a plan without policies for experts
 */
export function withExperts(
  { cluster, model, workload }: Question,
  found: readonly Candidate[],
  memoryOf: (plan: Plan) => Breakdown,
): Candidate[] {
  if (model.layer.routed.length === 0) return [...found];
  const problem = planningProblem({ belief: cluster, model, workload });
  const { used } = expertLayersOf(model, 0, model.layers);
  const cached = (plan: CachingPlan, experts: ExpertsPolicy, devices: readonly string[]): Candidate => {
    const policy = { prefetch: 'none', release: 'none', experts } as const;
    const weights = { ...plan.weights, ...Object.fromEntries(devices.map((device) => [device, policy])) };
    const own = createPlan({ ...plan, weights });
    return { plan: own, seconds: closedFormSeconds(problem, own) };
  };
  /** Plans that differ in what the policy takes the place of are one. */
  const seen = new Set<string>();
  const reading = new Map(found.map(({ plan }) => [plan, readingDevices(memoryOf(plan))]));
  const [held, exceeding] = [[], []] as [Candidate[], Candidate[]];
  for (const candidate of found) (reading.get(candidate.plan)?.length === 0 ? held : exceeding).push(candidate);
  /** Caching experts can't make up for what a plan takes without its disks, but shifting layers may. */
  const worthTrying = SHIFTING_GAIN * Math.min(...held.map(({ seconds }) => seconds));
  const firsts = new Map<string, CachingCandidate>();
  const uncached: Candidate[] = [];
  const inOrder = exceeding
    .map((candidate) => ({ candidate, computing: computingSeconds(problem, candidate.plan) }))
    .sort((one, other) => one.computing - other.computing);
  for (const { candidate, computing } of inOrder) {
    const { plan } = candidate;
    const devices = reading.get(plan) as readonly string[];
    const key = JSON.stringify({ ...plan, scheduler: '', weights: devices });
    if (!isCaching(plan, model, devices)) uncached.push(candidate);
    const group = `${plan.kind} of ${plan.rounds === 1 ? 'one round' : 'several rounds'}`;
    const least = Math.min(worthTrying, firsts.get(group)?.candidate.seconds ?? worthTrying);
    if (computing >= least || seen.has(key) || !isCaching(plan, model, devices)) continue;
    seen.add(key);
    const variants = POLICIES.map((experts) => cached(plan, experts, devices));
    const best = variants.filter(({ seconds }) => Number.isFinite(seconds)).sort(bySeconds)[0];
    if (best === undefined) uncached.push(candidate);
    else if (best.seconds < least) firsts.set(group, { candidate: best, devices });
  }
  const ring = held.find(({ plan }) => plan.kind === 'ring' && plan.rounds === 1);
  const starts = [...firsts.values(), ...(ring ? [{ candidate: ring, devices: [] }] : [])];
  const caching = fastestOfKinds(starts.map(shiftedLayers)).map(({ candidate, devices }) => {
    const ahead = aheadOf(candidate.plan.weights[devices[0] as string]?.experts, used);
    if (ahead === undefined) return candidate;
    const guessing = cached(candidate.plan as CachingPlan, ahead, devices);
    return guessing.seconds < candidate.seconds ? guessing : candidate;
  });
  return [...held, ...uncached, ...caching].sort(bySeconds);

  /** Schedulers don't know how experts are cached: layers of a ring are shifted from device to device after that. */
  function shiftedLayers(first: CachingCandidate): CachingCandidate {
    const { plan } = first.candidate;
    if (plan.kind !== 'ring') return first;
    const { experts = USUAL_EXPERTS } = plan.weights[first.devices[0] ?? ''] ?? {};
    const bare = (own: RingPlan): RingPlan => ({ ...own, weights: withoutExperts(own.weights) });
    const ofPlan = (own: RingPlan, limit = Number.POSITIVE_INFINITY): CachingCandidate | undefined => {
      const memory = memoryOf(bare(own));
      const devices = readingDevices(memory);
      // Reads of experts take the place of all others, and only add to what the plan takes without its disks.
      if (!isCaching(own, model, devices) || totalSeconds({ ...memory.seconds, disk: 0 }) >= limit) return undefined;
      return { candidate: cached(bare(own), experts, devices), devices };
    };
    const secondsOf = (own: RingPlan, limit: number): number =>
      ofPlan(own, limit)?.candidate.seconds ?? Number.POSITIVE_INFINITY;
    const shifted = withShiftedLayers(plan, withIdleStages(plan.stages, cluster), secondsOf);
    return ofPlan(shifted) ?? first;
  }
}

/**
 * The stages of a ring of one round with empty ones for the processors that have no layers: next to those of their device,
 * whose GPU comes last, or before the last device. Only those that there are where not all links are alike.
 */
function withIdleStages(stages: readonly Stage[], { devices, links }: Cluster): Stage[] {
  if (links.pairs.size > 0 || links.unreachable !== undefined) return [...stages];
  const names = [...new Set(stages.map(({ device }) => device))];
  const [last] = names.splice(-1);
  const others = devices.map(({ name }) => name).filter((name) => name !== last && !names.includes(name));
  return [...names, ...others, ...(last === undefined ? [] : [last])].flatMap((name) => {
    const own = stages.filter(({ device }) => device === name);
    const processors = devices.find((device) => device.name === name)?.gpu === undefined ? ['cpu'] : ['cpu', 'gpu'];
    const [cpu, gpu] = (['cpu', 'gpu'] as const).map((processor): Stage[] =>
      own.some((stage) => stage.processor === processor) || !processors.includes(processor)
        ? []
        : [{ device: name, processor, from: 0, to: 0 }],
    );
    return [...(cpu ?? []), ...own, ...(gpu ?? [])];
  });
}

/** Plans that cache experts are tried where they are slower than one in memory by less than this before layers are shifted. */
const SHIFTING_GAIN = 1.25;

/** A plan whose devices cache experts, and which of them do. */
interface CachingCandidate {
  readonly candidate: Candidate;
  readonly devices: readonly string[];
}

/** The fastest on one device, and the fastest ring. */
function fastestOfKinds(caching: readonly CachingCandidate[]): CachingCandidate[] {
  const sorted = caching.toSorted((one, other) => bySeconds(one.candidate, other.candidate));
  return sorted.filter(({ candidate }, index) =>
    sorted.slice(0, index).every((before) => before.candidate.plan.kind !== candidate.plan.kind),
  );
}

/** The devices that read weights from their disks for every token. */
function readingDevices({ devices }: Breakdown): string[] {
  return devices.filter(({ reloadedBytes }) => reloadedBytes > 0).map(({ device }) => device);
}

function withoutExperts(weights: Plan['weights']): Plan['weights'] {
  return Object.fromEntries(Object.entries(weights).filter(([, { experts }]) => experts === undefined));
}

type CachingPlan = SplitPlan | RingPlan;

const bySeconds = (one: Candidate, other: Candidate): number => one.seconds - other.seconds;

/** Whether each of some devices has layers with experts, which it may cache. */
function isCaching(plan: Plan, model: Model, devices: readonly string[]): plan is CachingPlan {
  if ((plan.kind !== 'split' && plan.kind !== 'ring') || plan.stages.some(({ streamed }) => streamed !== undefined))
    return false;
  const stages = stagesByDevice(plan);
  return devices.every((device) =>
    (stages.get(device) ?? []).some(({ from, to }) => expertLayersOf(model, from, to).layers > 0),
  );
}

/** Seconds of a token's way through a plan whose weights are all in memory. */
function computingSeconds({ belief, model, workload, runtime }: PlanningProblem, plan: Plan): number {
  const { seconds } = predict({ plan, truth: belief, model, workload, runtime, reclaim: 'overflow' });
  return totalSeconds({ ...seconds, disk: 0 });
}

/** Policies that are compared: slots of each layer or of all, and mapped experts. */
const POLICIES: readonly ExpertsPolicy[] = [
  USUAL_EXPERTS,
  { ...USUAL_EXPERTS, pool: 'all' },
  { ...USUAL_EXPERTS, method: 'mmap', depth: 1, hitsFirst: false },
];

/** A policy with guesses of the next layer's first experts; `undefined` for mapped ones. */
function aheadOf(policy: ExpertsPolicy | undefined, used: number): ExpertsPolicy | undefined {
  if (policy === undefined || policy.method === 'mmap') return undefined;
  return { ...policy, lookahead: { kind: 'next-router', ranks: Math.max(1, used >> 1) } };
}
