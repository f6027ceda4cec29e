import type { Breakdown } from '../../../engine/cost/breakdown.ts';
import { predict } from '../../../engine/cost/predict.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device, DiscreteGpu } from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { simulate } from '../../../simulator/simulate.ts';
import { type HelmConstants, requestStartOf } from './constants.ts';
import { fittedMachine } from './machine.ts';
import type { HelmQuantity } from './quantities.ts';
import type { HelmSystem } from './systems.ts';

/**
 * A prompt of 128 tokens, then 128 decoded ones (5.4, Table 6.1); every token is taken to be like the middle one of
 * these.
 */
export const PROMPT = 128;
export const OUTPUT = 128;
const MIDDLE = PROMPT + OUTPUT / 2;
/** Tokens decoded in simulation; the first finds memory as the prompt left it, and isn't counted. */
const DECODED = 3;

/** Subject of a cell: a system with a model on a machine. */
export interface HelmCase {
  readonly quantity: HelmQuantity;
  readonly system: HelmSystem;
  readonly cluster: Cluster;
  readonly model: Model;
  /**
   * Bytes per second of the GPU's memory by §5.1; undefined where the machine's file has what the profiler measured.
   */
  readonly specifiedBandwidth: number | undefined;
  /** Tokens in the KV cache of a decoded token; those of the middle one unless given. */
  readonly context?: number;
}

/** The plan of a case, or the reason why it doesn't run. */
export type HelmPlan =
  | { readonly outcome: 'runs'; readonly plan: Plan }
  | { readonly outcome: 'fails'; readonly why: string };

/** The workload of Table 6.1 with the batch of the case. */
export function workloadOf({ quantity: { batch }, context = MIDDLE }: HelmCase): Workload {
  return createWorkload({
    promptTokens: PROMPT,
    outputTokens: DECODED,
    batch,
    context,
    reservedContext: PROMPT + OUTPUT,
  });
}

/**
 * The plan that the system makes for single requests with the memory that it may take. It fails where memory is lacking
 * for the batch.
 */
export function planOf(one: HelmCase): HelmPlan {
  const { system, cluster, model } = one;
  const workload = workloadOf(one);
  const machine = withVram(cluster, system);
  const scheduled = system.plan({
    belief: machine,
    model,
    workload: { ...workload, batch: 1 },
    runtime: system.runtime,
  });
  if (scheduled.plan === undefined) return { outcome: 'fails', why: scheduled.message };
  const { plan } = scheduled;
  const [lacking] = predict({ plan, truth: machine, model, workload, runtime: system.runtime }).infeasible;
  return lacking === undefined ? { outcome: 'runs', plan } : { outcome: 'fails', why: lacking.reason };
}

/** Number of layers that the CPU runs. */
export function layersOnCpu({ stages }: Plan): number {
  return stages.reduce((sum, { processor, from, to }) => sum + (processor === 'cpu' ? to - from : 0), 0);
}

function withVram(cluster: Cluster, { vram }: HelmSystem): Cluster {
  const device = cluster.devices[0] as Device;
  const gpu = device.gpu as DiscreteGpu;
  if (vram === undefined) return cluster;
  const changed: Device = { ...device, gpu: { ...gpu, memory: { ...gpu.memory, available: vram(gpu) } } };
  return { ...cluster, devices: [changed] };
}

function machineOf(one: HelmCase, constants: HelmConstants): Cluster {
  const { quantity, system, cluster, model, specifiedBandwidth } = one;
  const gpu = (cluster.devices[0] as Device).gpu as DiscreteGpu;
  return fittedMachine(cluster, constants, {
    launch: system.launch,
    phase: quantity.kind === 'first' ? 'prefill' : 'decode',
    model,
    workload: workloadOf(one),
    specifiedBandwidth,
    ...(system.cpuBandwidth !== undefined && { cpuBandwidth: system.cpuBandwidth }),
    ...(system.dynamicCache === true && { dynamicCache: true }),
    ...(system.pageable === true && { pageable: true }),
    ...(system.vram && { vram: system.vram(gpu) }),
  });
}

/** Seconds of the quantity by closed forms, on the machine with the fitted constants. */
export function predictedSeconds(one: HelmCase, plan: Plan, constants: HelmConstants): number {
  const phase = one.quantity.kind === 'first' ? 'prefill' : 'decode';
  const { model, system } = one;
  const truth = machineOf(one, constants);
  const found = predict({ plan, truth, model, workload: workloadOf(one), runtime: system.runtime, phase });
  if (one.quantity.kind === 'cpu-stage') return cpuSeconds(found);
  return found.tokenSeconds + startSeconds(one, constants);
}

/** Seconds of a first token in addition to the prompt's, which only HELM takes. */
function startSeconds({ quantity, system, cluster }: HelmCase, constants: HelmConstants): number {
  return quantity.kind === 'first' && system.startsRequests === true ? requestStartOf(constants, cluster.name) : 0;
}

function cpuSeconds({ stages }: Breakdown): number {
  return stages
    .filter(({ processor, output }) => processor === 'cpu' && !output)
    .reduce((sum, { seconds: { compute, kvCopy, memory, overhead } }) => sum + compute + kvCopy + memory + overhead, 0);
}

/** Seconds of the quantity by simulation; undefined for a part of a token, which a trace of tokens doesn't show. */
export function simulatedSeconds(one: HelmCase, plan: Plan, constants: HelmConstants): number | undefined {
  const { kind } = one.quantity;
  if (kind === 'cpu-stage') return undefined;
  const { trace } = simulate({
    cluster: machineOf(one, constants),
    model: one.model,
    plan,
    workload: workloadOf(one),
    runtime: one.system.runtime,
    context: 'fixed',
    record: 'tokens',
  });
  const phase = kind === 'first' ? 'prefill' : 'decode';
  const found = trace.tokens.filter((token) => token.phase === phase).slice(kind === 'first' ? 0 : 1);
  if (found.length === 0) return undefined;
  return found.reduce((sum, { start, end }) => sum + end - start, 0) / found.length + startSeconds(one, constants);
}

/**
 * Seconds of HELM's token by its own formula and numbers, nothing fitted: T̂ = T_plan + N δ̄ (Eqs. 4.7–4.15 and 6.4.4).
 * Undefined for other systems, first tokens, batches (δ̄ is stated for single requests) and a part of a token.
 */
export function thesisSeconds(one: HelmCase, plan: Plan): number | undefined {
  const { quantity, cluster, model } = one;
  if (quantity.system !== 'helm' || quantity.kind !== 'token' || quantity.batch > 1) return undefined;
  const workload = workloadOf(one);
  return predict({ plan, truth: cluster, model, workload, formulas: 'roofline', overhead: 'per-block' }).tokenSeconds;
}
