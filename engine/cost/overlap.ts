import type { Cluster } from '../hardware/cluster.ts';
import { InputError } from '../input/input-error.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import { cachesExperts, chipPartitions, type FittedPlan, type Plan } from '../plan/plan.ts';
import { validatePlan } from '../plan/validate-plan.ts';
import { NO_WEIGHTS_POLICY } from '../plan/weights-policy.ts';
import { stagesByDevice, windowsOf } from '../plan/windows.ts';
import { type Breakdown, type StageBreakdown, totalSeconds } from './breakdown.ts';
import { fitWeights, fixedBytes, loadOfStages, mappedBytes } from './memory.ts';
import type { PassLoad } from './mixed-pass.ts';
import { pageTables, type ReclaimPolicy } from './reclaim.ts';
import { createRingPredictor } from './ring.ts';
import { costsOfPass, type DeviceCosts, type RingCosts } from './ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from './runtime.ts';
import { lastLayerSeconds, type WeightReads, weightReads } from './weight-reads.ts';

/** Lower bounds of a token's time in a ring, by what bounds it, seconds. */
export interface RingBounds {
  /** k */
  readonly rounds: number;
  /** The token's way around the ring: all rounds, hops and the output layer. */
  readonly seconds: number;
  readonly outputSeconds: number;
  /** d: the longest `roundSeconds` of all devices (weightReads). */
  readonly roundSeconds: number;
}

/**
 * TPOT of a ring whose devices read their next window while others compute. A round takes the longer of p, the token's
 * way around the ring, and d, what the slowest disk needs between two windows; the output layer, o, lengthens the last
 * round: T = (k − 1) max(p, d) + max(p + o, d).
 *
 * A system that is linear over (max, +) runs at the pace of its slowest circuit; the circuits are the ring, and each
 * device's own cycle of reading and computing.
 */
export function ringSeconds(bounds: RingBounds): number {
  const { rounds, outputSeconds, roundSeconds } = bounds;
  const pass = passSeconds(bounds);
  return (rounds - 1) * Math.max(pass, roundSeconds) + Math.max(pass + outputSeconds, roundSeconds);
}

/** p: the token's way once around the ring, seconds. */
export function passSeconds({ rounds, seconds, outputSeconds }: RingBounds): number {
  return (seconds - outputSeconds) / rounds;
}

/** A device's part of a prediction with overlap. */
export interface OverlappedDevice extends WeightReads {
  readonly device: string;
}

/** The predicted seconds of a token of a ring whose devices read while others compute. */
export interface OverlappedPrediction {
  /** TPOT; infinite if what can't be reclaimed exceeds a memory. */
  readonly tokenSeconds: number;
  /** Bytes read from disks for a token. */
  readonly readBytes: number;
  /** The device whose reads determine the time; `undefined` if the token's way around the ring does. */
  readonly bound: string | undefined;
  /** The devices that hold mapped weights. */
  readonly devices: readonly OverlappedDevice[];
}

/** A plan to predict with overlap, and the devices and model that it is for. */
export interface OverlappedCase {
  readonly plan: Plan;
  /** The real devices. */
  readonly truth: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly runtime?: Runtime;
  /** Reclaim policy of the operating systems for weights that a policy doesn't release; `lru` unless given. */
  readonly reclaim?: ReclaimPolicy;
  /** γ + 1 (speculation.ts): the seconds are those of one pass that verifies this many tokens; default 1. */
  readonly verifiedTokens?: number;
  /** The seconds of one pass over tokens of several texts (mixed-pass.ts), in place of a token's. */
  readonly pass?: PassLoad;
}

/** Whether a plan is of a kind whose time with overlap has a closed form. */
export function hasOverlappedForm(plan: Plan): boolean {
  return plan.kind === 'ring' && !cachesExperts(plan) && plan.stages.every(({ streamed }) => streamed === undefined);
}

/**
 * The predicted TPOT of a ring with overlap: T = (k − 1) max(p, d) + max(p + o, d) (ringSeconds). The token's way is
 * prima.cpp's Eq. 11 without its disks (Eqs. 12–14 and 19), and with what page faults add to it; what is read, and when,
 * is `weightReads`. Windows that differ from round to round count as their mean. This is the form that `ring-aware`
 * minimises; the paper's own (`predict`) adds up what happens at the same time.
 * @throws InputError unless `hasOverlappedForm`, or if the plan doesn't fit cluster and model
 */
export function predictOverlapped(asked: OverlappedCase): OverlappedPrediction {
  const { truth, model, workload, runtime = DEFAULT_RUNTIME, verifiedTokens = 1, pass } = asked;
  validatePlan(asked.plan, truth, model);
  if (!hasOverlappedForm(asked.plan))
    throw new InputError('plan: kind', `is "${asked.plan.kind}"; overlap is predicted for rings whose layers stay put`);
  const own = { ...runtime, partitions: chipPartitions(asked.plan) };
  const costs = costsOfPass(truth, model, workload, { runtime: own, verifiedTokens, load: pass });
  const plan = fitWeights(asked.plan, costs);
  const options = { runtime: own, verifiedTokens, ...(pass && { pass }) };
  const breakdown = createRingPredictor(truth, model, workload, options)(plan);
  const { reclaim } = asked;
  const devices = costs.devices.flatMap(
    (device) => overlappedDevice({ plan, costs, device, breakdown, reclaim }) ?? [],
  );
  const sum = (pick: (one: OverlappedDevice) => number): number => devices.reduce((total, one) => total + pick(one), 0);
  const outputs = breakdown.stages.filter(({ output }) => output);
  const outputSeconds = outputs.reduce((total, { seconds }) => total + totalSeconds(seconds) - seconds.disk, 0);
  const outputWait = sum((one) => one.outputWait) + lookupSeconds(costs, plan);
  const seconds = breakdown.tokenSeconds - breakdown.seconds.disk + sum((one) => one.windowWait) + outputWait;
  const slowest = devices.reduce<OverlappedDevice | undefined>(
    (most, one) => (one.roundSeconds > (most?.roundSeconds ?? 0) ? one : most),
    undefined,
  );
  const bounds = {
    rounds: plan.rounds,
    seconds,
    outputSeconds: outputSeconds + outputWait,
    roundSeconds: slowest?.roundSeconds ?? 0,
  };
  return {
    tokenSeconds: breakdown.infeasible.length > 0 ? Number.POSITIVE_INFINITY : ringSeconds(bounds),
    readBytes: sum((one) => one.faultedBytes + one.prefetchedBytes) + costs.embeddingRowBytes,
    bound: bounds.roundSeconds > passSeconds(bounds) ? slowest?.device : undefined,
    devices,
  };
}

/** Seconds of reading the embedding's row, which is too cold to stay in memory (prima.cpp Eqs. 15–17). */
function lookupSeconds({ embeddingRowBytes, devices }: RingCosts, { output }: Plan): number {
  const head = devices.find(({ name }) => name === output.device);
  return head === undefined ? 0 : embeddingRowBytes / head.reloadRate;
}

interface DeviceCase {
  readonly plan: FittedPlan;
  readonly costs: RingCosts;
  readonly device: DeviceCosts;
  readonly breakdown: Breakdown;
  readonly reclaim: ReclaimPolicy | undefined;
}

/** `undefined` for a device that maps no weights. */
function overlappedDevice({ plan, costs, device, breakdown, reclaim }: DeviceCase): OverlappedDevice | undefined {
  const stages = stagesByDevice(plan).get(device.name) ?? [];
  const output = plan.output.device === device.name ? plan.output.processor : undefined;
  const load = loadOfStages(plan, stages, output);
  const lookup = output === undefined ? 0 : costs.embeddingRowBytes;
  const mapped = mappedBytes(costs, device, load) - lookup;
  if (mapped === 0) return undefined;
  const outputBytes = output === 'cpu' || (output === 'gpu' && device.unified) ? costs.outputBytes : 0;
  const own = windowsOf(plan).filter((window) => window.device === device.name);
  const isMapped = ({ processor }: StageBreakdown): boolean => processor === 'cpu' || device.unified;
  const secondsOf = (isOutput: boolean): number =>
    breakdown.stages
      .filter((stage) => stage.device === device.name && stage.output === isOutput && isMapped(stage))
      .reduce((sum, { seconds }) => sum + seconds.compute + seconds.memory + seconds.kvCopy + seconds.overhead, 0);
  const rounds = Math.max(1, own.length);
  const reads = weightReads({
    device,
    policy: plan.weights[device.name] ?? NO_WEIGHTS_POLICY,
    reclaim,
    rounds,
    windowBytes: mapped - outputBytes,
    outputBytes,
    routed: { ...costs.routed, bytes: ((mapped - outputBytes) / costs.layerBytes) * costs.routed.bytes },
    room: device.available - fixedBytes(costs, device, load) - lookup - pageTables(device.kind) * (mapped + lookup),
    windowSeconds: secondsOf(false),
    outputSeconds: secondsOf(true),
    lastSeconds: lastLayerSeconds(device, load.gpuLayers / rounds),
  });
  // A device with fewer windows than the plan has rounds has more time for each.
  return { ...reads, roundSeconds: (reads.roundSeconds * rounds) / plan.rounds, device: device.name };
}
