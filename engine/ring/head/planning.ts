import { type Cluster, withDevices } from '../../hardware/cluster.ts';
import { InputError } from '../../input/input-error.ts';
import type { KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import { createWorkload } from '../../model/workload.ts';
import {
  type Cut,
  chipPartitions,
  type ExpertHolder,
  type ExpertParallelPlan,
  type Plan,
  type TensorParallelPlan,
} from '../../plan/plan.ts';
import { ringWindows, type StreamedLayers, streamedLayers } from '../../plan/ring-windows.ts';
import type { TensorPartition } from '../../plan/tensor-partition.ts';
import { layerSlices } from '../../plan/tensor-slices.ts';
import { validateCut } from '../../plan/validate-cut.ts';
import { validateHolders } from '../../plan/validate-holders.ts';
import { validatePlan } from '../../plan/validate-plan.ts';
import { FIT_POLICY, type Prefetch, type Release, type WeightsPolicy } from '../../plan/weights-policy.ts';
import type { Window } from '../../plan/windows.ts';
import type { IntegerSolver } from '../../schedule/integer-solver.ts';
import { withKeptExperts } from '../../schedule/kept-experts.ts';
import { SCHEDULERS, type SchedulerName } from '../../schedule/registry.ts';
import type { DevicePartOptions } from '../device/device-part.ts';
import type { WeightsReport } from '../wire/message.ts';

/** The schedulers whose plans a ring carries out: whole layers on CPUs and GPUs, or a mixture's experts on CPUs. */
export const RING_SCHEDULERS = [
  'halda',
  'halda-repaired',
  'halda-program',
  'optimal',
  'milp',
  'ring-aware',
  'memory-ratio',
  'compute-ratio',
  'single-device',
  'cpu-gpu-split',
  'exo',
  'expert-parallel',
  'helm-devices',
  'helm-ring',
] as const satisfies SchedulerName[];
export type RingScheduler = (typeof RING_SCHEDULERS)[number];

/** The part of a plan that a ring carries out. */
export interface RingLayout {
  /** In the order in which a token visits them. */
  readonly windows: readonly Window[];
  /** Weights that are copied to GPUs for every pass, by device; missing: none. */
  readonly streamed?: ReadonlyMap<string, StreamedLayers>;
  /** How operators are cut between GPU and NPU, by device that does so; missing: nowhere. */
  readonly partitions?: ReadonlyMap<string, TensorPartition>;
  /** Whether the head's NPU shares the output layer. */
  readonly outputOnNpu?: boolean;
  /** Parts other than layers that the head's GPU computes; missing: none. */
  readonly onGpu?: DevicePartOptions['outer'];
  /** Whether keys and values of layers on GPUs are in RAM; missing: they are with their layers. */
  readonly keysInRam?: boolean;
  /** By device; devices without an entry leave their weights to the operating system. */
  readonly weights: Readonly<Record<string, WeightsPolicy>>;
  /** The devices that hold experts; missing: layers have theirs where they run. */
  readonly holders?: readonly ExpertHolder[];
  /** How tensors are cut; missing: layers are whole. There is one window, of all layers, on the head. */
  readonly cut?: Pick<TensorParallelPlan, 'allReduce'> & { readonly members: readonly Cut[] };
}

export interface RingPlanning {
  /** All devices of the ring, in its order, the head first. */
  readonly devices: readonly string[];
  readonly model: Model;
  readonly context: number;
  readonly kvFormat: KvFormat;
  /** Weights policies that differ from the plan's. */
  readonly requested: RequestedWeights;
  /** See SchedulingProblem. */
  readonly maxPressure?: number | undefined;
  /** A plan that is used while all its devices are connected. */
  readonly plan: { readonly file: string; readonly plan: Plan } | undefined;
  /** How plans are made otherwise; `undefined` if hardware facts or a scheduler are missing. */
  readonly scheduling:
    | { readonly cluster: Cluster; readonly scheduler: RingScheduler; readonly solver: IntegerSolver }
    | undefined;
}

/**
 * The plan for the connected devices.
 * @throws InputError if there is none, with what is missing
 */
export function planRing(planning: RingPlanning, present: readonly string[]): Plan {
  const { devices, requested, plan: given, scheduling, maxPressure } = planning;
  if (given !== undefined) {
    const needed = [given.plan.embedding, ...given.plan.stages, ...sharersOf(given.plan)].map(({ device }) => device);
    const absent = needed.find((device) => !present.includes(device));
    if (absent === undefined) return planWeights(given.plan, requested, false);
    if (scheduling === undefined) {
      const reason = `needs ${absent}, which ${devices.includes(absent) ? 'is gone' : 'the cluster does not have'}`;
      throw new InputError(given.file, `${reason}; with --scheduler and the devices’ facts a plan without it is made`);
    }
  }
  if (scheduling === undefined)
    throw new InputError('--plan', 'is missing; give one, or the devices’ facts in the cluster file for a scheduler');
  const { cluster, scheduler, solver } = scheduling;
  const belief = withDevices(cluster, present);
  const workload = createWorkload({ context: planning.context, kvFormat: planning.kvFormat });
  const pressure = maxPressure === undefined ? {} : { maxPressure };
  const scheduled = SCHEDULERS[scheduler].plan(
    { belief, model: planning.model, workload, kvCache: 'with-layers', ...pressure },
    solver,
  );
  // Pinning as much as fits would exceed the limit, so weights that the plan leaves to the system stay there.
  if (scheduled.plan !== undefined) {
    const { model } = planning;
    const plan = given ? withKeptExperts({ belief, model, workload }, scheduled.plan, given.plan) : scheduled.plan;
    return planWeights(plan, requested, maxPressure === undefined);
  }
  const gone = devices.filter((device) => !present.includes(device));
  const without = gone.length === 0 ? '' : `, without ${gone.join(', ')}`;
  throw new InputError(
    `scheduler ${scheduler}`,
    `${present.join(', ')} can’t run ${planning.model.name}${without}: ${scheduled.message}`,
  );
}

/** The devices that share what is in the head's layers. */
export function sharersOf(plan: Plan): readonly { readonly device: string }[] {
  if (plan.kind === 'expert-parallel') return plan.holders;
  return plan.kind === 'tensor-parallel' ? plan.stages[0].cut : [];
}

/** The part of a plan that a ring carries out, checked against the model and the devices. @throws InputError */
export function layoutOf(plan: Plan, planning: RingPlanning): RingLayout {
  if (plan.kind === 'expert-parallel') return dividedLayout(plan, planning);
  if (plan.kind === 'tensor-parallel') return cutLayout(plan, planning);
  const windows = checkedWindows(plan, planning);
  const partitions = chipPartitions(plan);
  const streamed = streamedLayers(plan);
  // A chip's CPU stands for its GPU.
  const isChip = partitions.has(plan.embedding.device);
  const onGpu = (['embedding', 'output'] as const).filter((part) => plan[part].processor === 'gpu' && !isChip);
  return {
    ...{ windows, onGpu, weights: plan.weights },
    ...(streamed.size > 0 && { streamed }),
    ...(partitions.size > 0 && { partitions }),
    ...(isChip && (plan.kind === 'chip' || plan.output.partition !== undefined) && { outputOnNpu: true }),
    ...(plan.kvCache === 'host' && { keysInRam: true }),
  };
}

/** The layout of a plan that divides experts: the head has one window, of all layers. */
function dividedLayout(
  plan: ExpertParallelPlan,
  { devices, model, scheduling, plan: given }: RingPlanning,
): RingLayout {
  const where = given?.file ?? 'plan';
  if (scheduling === undefined) validateHolders(plan, model, where);
  else validatePlan(plan, scheduling.cluster, model, where);
  return { windows: [headWindow(plan, { devices, model }, where)], weights: {}, holders: plan.holders };
}

/** The layout of a plan that cuts tensors: the head and all others have one window, of slices of all layers. */
function cutLayout(plan: TensorParallelPlan, { devices, model, scheduling, plan: given }: RingPlanning): RingLayout {
  const where = given?.file ?? 'plan';
  if (scheduling === undefined) validateCut(plan, where);
  else validatePlan(plan, scheduling.cluster, model, where);
  const [{ cut }] = plan.stages;
  try {
    // Blocks of the file's formats are known where it is: head.ts cuts with them.
    const whole = { shares: cut.map(({ share }) => share), blocks: { attention: 1, feedForward: 1 } };
    for (const [layer, kind] of model.kinds.entries()) layerSlices(kind, layer, whole);
  } catch (error) {
    throw new InputError(`${where}: stages[0].cut`, `${model.name}: ${(error as Error).message}`);
  }
  const { allReduce } = plan;
  return { windows: [headWindow(plan, { devices, model }, where)], weights: {}, cut: { allReduce, members: cut } };
}

/** The one window of a plan whose head has all layers, or slices of all. */
function headWindow(
  plan: ExpertParallelPlan | TensorParallelPlan,
  { devices, model }: Pick<RingPlanning, 'devices' | 'model'>,
  where: string,
): Window {
  const head = plan.embedding.device;
  const [{ from, to }] = plan.stages;
  if (from !== 0 || to !== model.layers)
    throw new InputError(where, `has layers ${from} to ${to - 1}; ${model.name} has ${model.layers} layers, from 0 on`);
  if (head !== devices[0]) throw new InputError(where, `the head is ${head}; in the cluster it is ${devices[0]}`);
  return { device: head, from, to };
}

function checkedWindows(plan: Plan, { devices, model, scheduling, plan: given }: RingPlanning): Window[] {
  if (scheduling !== undefined) validatePlan(plan, scheduling.cluster, model, given?.file);
  const windows = ringWindows(plan);
  let next = 0;
  for (const { from, to } of windows) {
    if (from !== next) throw new InputError(given?.file ?? 'plan', `layer ${next} is followed by layer ${from}`);
    next = to;
  }
  if (next !== model.layers)
    throw new InputError(given?.file ?? 'plan', `has ${next} layers; ${model.name} has ${model.layers}`);
  if (plan.embedding.device !== devices[0])
    throw new InputError(
      given?.file ?? 'plan',
      `the head is ${plan.embedding.device}; in the cluster it is ${devices[0]}`,
    );
  return windows;
}

/** A weights policy that the user requests for all devices; `undefined`: as planned. */
export interface RequestedWeights {
  readonly prefetch: Prefetch | undefined;
  readonly release: Release | undefined;
}

/**
 * The plan with a weights policy for every device that holds weights: the user's request, else the plan's policy, else
 * FIT_POLICY. A plan that divides experts, or cuts tensors, has none.
 * @throws InputError for a policy that is requested for such a plan
 * @param scheduled whether a scheduler made the plan. If such a plan leaves memory to the operating system, as the
 * papers' systems do, FIT_POLICY takes its place; a plan written by hand is not changed, and neither is the policy of a
 * device that caches experts.
 */
export function planWeights(plan: Plan, { prefetch, release }: RequestedWeights, scheduled: boolean): Plan {
  if (plan.kind === 'expert-parallel' || plan.kind === 'tensor-parallel') {
    if (prefetch === undefined && release === undefined) return plan;
    const option = prefetch === undefined ? '--release' : '--prefetch';
    throw new InputError(
      option,
      `has no effect on a plan that ${plan.kind === 'tensor-parallel' ? 'cuts tensors' : 'divides experts'}: all weights stay in memory; leave it out`,
    );
  }
  const holders = new Set([plan.output, ...plan.stages].map(({ device }) => device));
  const weights = [...holders].map((device): [string, WeightsPolicy] => {
    const planned = plan.weights[device];
    if (planned?.experts !== undefined) return [device, planned];
    const base = planned === undefined || (scheduled && planned.release === 'none') ? FIT_POLICY : planned;
    const asked = prefetch ?? base.prefetch;
    const released = release ?? base.release;
    if (released !== 'pinned') return [device, { prefetch: asked, release: released }];
    const pinned = base.release === 'pinned' ? base.pinned : 'fit';
    return [device, { prefetch: asked, release: released, pinned }];
  });
  return { ...plan, weights: Object.fromEntries(weights) };
}

/** The plan with its policies as fitted to the devices' memories. */
export function fittedPlan(plan: Plan, reports: ReadonlyMap<string, WeightsReport>): Plan {
  if (plan.kind === 'expert-parallel' || plan.kind === 'tensor-parallel') return plan;
  const weights = [...reports].map(([device, { policy }]) => [device, policy] as const);
  return { ...plan, weights: { ...plan.weights, ...Object.fromEntries(weights) } };
}
