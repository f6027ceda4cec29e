import type { Breakdown } from '../../../engine/cost/breakdown.ts';
import { predict } from '../../../engine/cost/predict.ts';
import type { Cluster } from '../../../engine/hardware/cluster.ts';
import type { Device, DiscreteGpu } from '../../../engine/hardware/device.ts';
import type { Model } from '../../../engine/model/model.ts';
import { createWorkload, type Workload } from '../../../engine/model/workload.ts';
import type { Plan } from '../../../engine/plan/plan.ts';
import { simulate } from '../../../simulator/simulate.ts';
import type { HelmConstants } from './constants.ts';
import { fittedMachine } from './machine.ts';
import type { HelmQuantity } from './quantities.ts';
import { type HelmSystem, kernelBandwidth } from './systems.ts';

/** A prompt of 128 tokens and as many after it (5.4, Table 6.1); the middle of them is taken for every token. */
const PROMPT = 128;
const OUTPUT = 128;
const MIDDLE = PROMPT + OUTPUT / 2;
/** Decoded in simulation: the first finds what the prompt left, and isn't counted. */
const DECODED = 3;

export interface HelmCase {
  readonly quantity: HelmQuantity;
  readonly system: HelmSystem;
  readonly cluster: Cluster;
  readonly model: Model;
  /** GB/s of the GPU by §5.1, where the machine's file hasn't what the profiler measured. */
  readonly specifiedBandwidth: number | undefined;
}

/** The plan of a case; why it doesn't run; or what the thesis leaves out that it would take. */
export type HelmPlan =
  | { readonly outcome: 'runs'; readonly plan: Plan }
  | { readonly outcome: 'fails'; readonly why: string }
  | { readonly outcome: 'not-modelled'; readonly why: string };

/** The workload of Table 6.1, for the batch of the case. */
export function workloadOf({ quantity: { batch } }: HelmCase): Workload {
  return createWorkload({
    promptTokens: PROMPT,
    outputTokens: DECODED,
    batch,
    context: MIDDLE,
    reservedContext: PROMPT + OUTPUT,
  });
}

/**
 * The plan of the system, made on the machine as its file states it for single requests, and whether it runs: memory
 * that is lacking, and batches on a plan that fills the VRAM (6.4.1).
 */
export function planOf(one: HelmCase): HelmPlan {
  const { system, cluster, model, quantity } = one;
  const workload = workloadOf(one);
  const scheduled = system.plan({
    belief: cluster,
    model,
    workload: { ...workload, batch: 1 },
    runtime: system.runtime,
  });
  if (scheduled.plan === undefined) return { outcome: 'fails', why: scheduled.message };
  const { plan } = scheduled;
  const machine = withVram(cluster, system);
  const [lacking] = predict({ plan, truth: machine, model, workload, runtime: system.runtime }).infeasible;
  if (lacking !== undefined) return { outcome: 'fails', why: lacking.reason };
  if (quantity.batch > 1 && layersOnCpu(plan) > 0) {
    return { outcome: 'fails', why: 'the split fills the VRAM: no headroom for a second request (6.4.1)' };
  }
  if (layersOnCpu(plan) > 0 && kernelBandwidth(system, cluster) === 'unstated') {
    return { outcome: 'not-modelled', why: 'no rate is stated for the fallback on this machine' };
  }
  return { outcome: 'runs', plan };
}

/** Layers of a plan that its CPU runs. */
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
  const kernel = kernelBandwidth(system, cluster);
  const gpu = (cluster.devices[0] as Device).gpu as DiscreteGpu;
  return fittedMachine(cluster, constants, {
    launch: system.launch,
    phase: quantity.kind === 'first' ? 'prefill' : 'decode',
    model,
    workload: workloadOf(one),
    specifiedBandwidth,
    ...(typeof kernel === 'number' && { cpuBandwidth: kernel }),
    ...(system.pageable === true && { pageable: true }),
    ...(system.vram && { vram: system.vram(gpu) }),
  });
}

/** Seconds of the quantity by closed forms, on the machine with what was fitted. */
export function predictedSeconds(one: HelmCase, plan: Plan, constants: HelmConstants): number {
  const phase = one.quantity.kind === 'first' ? 'prefill' : 'decode';
  const { model, system } = one;
  const truth = machineOf(one, constants);
  const found = predict({ plan, truth, model, workload: workloadOf(one), runtime: system.runtime, phase });
  return one.quantity.kind === 'cpu-stage' ? cpuSeconds(found) : found.tokenSeconds;
}

function cpuSeconds({ stages }: Breakdown): number {
  return stages
    .filter(({ processor, output }) => processor === 'cpu' && !output)
    .reduce((sum, { seconds: { compute, kvCopy, memory, overhead } }) => sum + compute + kvCopy + memory + overhead, 0);
}

/** Seconds of the quantity by simulation, event by event; undefined for a part of a token. */
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
  return found.reduce((sum, { start, end }) => sum + end - start, 0) / found.length;
}

/**
 * Seconds of HELM's token by its own formula and numbers, nothing fitted: T̂ = T_plan + N δ̄ (Eqs. 4.7–4.15 and 6.4.4).
 * Undefined for what they aren't for: other systems, first tokens, batches (of which δ̄ says nothing), a part of a token.
 */
export function thesisSeconds(one: HelmCase, plan: Plan): number | undefined {
  const { quantity, cluster, model } = one;
  if (quantity.system !== 'helm' || quantity.kind !== 'token' || quantity.batch > 1) return undefined;
  const workload = workloadOf(one);
  return predict({ plan, truth: cluster, model, workload, formulas: 'roofline', overhead: 'per-block' }).tokenSeconds;
}
