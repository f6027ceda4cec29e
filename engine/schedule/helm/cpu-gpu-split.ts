import type { Breakdown, Infeasibility } from '../../cost/breakdown.ts';
import { createRingPredictor } from '../../cost/ring.ts';
import { createSplitPredictor, type SplitPredictionOptions } from '../../cost/split.ts';
import { deviceIndex, withoutGpus } from '../../hardware/cluster.ts';
import type { Device, ProcessorKind } from '../../hardware/device.ts';
import type { Shape } from '../../model/architecture.ts';
import { createPlan } from '../../plan/create-plan.ts';
import type { Plan, Stage } from '../../plan/plan.ts';
import { NO_WEIGHTS_POLICY } from '../../plan/weights-policy.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { type Boundary, createCountSearch } from './crossed-counts.ts';

export interface CpuGpuSplitOptions extends Omit<SplitPredictionOptions, 'runtime' | 'phase'> {
  /**
   * Quantity that the plan minimises: a token's time (the default), or that of the workload's prompts (Algorithm 1).
   */
  readonly objective?: 'decode' | 'prefill';
  /**
   * By which formulas: `roofline` (the default), the thesis's, or `sum`, prima.cpp's, which add computing to reading
   * and are those that the rates of `hearth profile` are measured for.
   */
  readonly formulas?: 'roofline' | 'sum';
  /** The device to split; the head unless named. */
  readonly device?: string;
  /** `host`: KV offload on, as in all of the thesis's runs but one ablation; `with-layers`: off. */
  readonly kvCache?: Plan['kvCache'];
  /**
   * `checked`: the CPU part must fit in the RAM; `ignored`: Algorithm 1 as printed, which checks the VRAM only, and so
   * plans the 14B and 32B on the RTX 4060's 16 GB, which Table 6.1 marks as failed.
   */
  readonly ram?: 'checked' | 'ignored';
  /**
   * Experts of a mixture's GPU layers: `searched` (the default): those of the first of them may lie on the CPU;
   * `with-layers`: whole layers only, as in the thesis.
   */
  readonly experts?: 'searched' | 'with-layers';
}

/** One k of the search: the first k units run on the CPU, the rest on the GPU. */
export interface SplitCandidate {
  /** k, and L + 2 − k; embedding and output projection are units. */
  readonly cpuUnits: number;
  readonly gpuUnits: number;
  /** The GPU's first layers whose experts are on the CPU, as many as are best with this k; missing: none. */
  readonly cpuExperts?: number;
  /** Seconds of T_plan by part: T_CPU, T_GPU, T_comm (HELM Eq. 4.7). */
  readonly cpuSeconds: number;
  readonly gpuSeconds: number;
  readonly copySeconds: number;
  readonly tokenSeconds: number;
  readonly gpuBytes: number;
  readonly ramBytes: number;
  /** The memories that are too small for it, among those that the search checks. */
  readonly lacks: readonly Infeasibility['memory'][];
  readonly feasible: boolean;
}

/** The plan, or why there is none, with every candidate by ascending k (HELM Fig. 4.4) and the best of them. */
export type SplitSearch = Scheduled & {
  readonly curve: readonly SplitCandidate[];
  readonly best: SplitCandidate | undefined;
};

/** The thesis's partition units: the blocks, the embedding and the output projection (HELM 4.1.1). */
export function partitionUnits(shape: Shape): number {
  return shape.layers + 2;
}

/**
 * HELM's StrategySelector (Algorithm 1): the least T_plan, of a token or of a prompt, over every boundary k from 0 to
 * L + 2 that memory allows, the smaller k where two are equal. Algorithm 1 counts its units from 0 to L; the text has
 * L + 2 of them, as here. Of a mixture every k is tried with the experts of 0, 1, … of the GPU's layers on the CPU, the
 * first ones: where layers are alike, no choice of others is faster or smaller. The fewest of equals is taken.
 * @throws InputError if the cluster has no such device, or for efficiencies outside (0, 1]
 */
export function cpuGpuSplit(problem: SchedulingProblem, options: CpuGpuSplitOptions = {}): SplitSearch {
  const { belief, model } = problem;
  const { device: name, kvCache = problem.kvCache ?? 'host', ram = 'checked' } = options;
  const device = belief.devices[name === undefined ? 0 : deviceIndex(belief, name)] as Device;
  if (device.gpu === undefined) {
    const message = `${device.name} has no GPU to split ${model.name} with; use another device or scheduler`;
    return { ...noPlan('needs-gpu', message), curve: [], best: undefined };
  }
  const predict = predictorOf(problem, options);
  const checksRam = ram === 'checked';
  const curve: SplitCandidate[] = [];
  let best: { readonly candidate: SplitCandidate; readonly plan: Plan } | undefined;
  const search = createCountSearch(({ cpuUnits }: Units, cpuExperts) => {
    const plan = splitPlan(device.name, model, cpuUnits, kvCache, cpuExperts);
    const breakdown = predict(plan);
    const lacks = breakdown.infeasible.map(({ memory }) => memory).filter((memory) => memory === 'vram' || checksRam);
    const own = candidateOf(breakdown, cpuUnits, partitionUnits(model), lacks);
    const { feasible, tokenSeconds } = own;
    return {
      ...{ plan, candidate: cpuExperts === 0 ? own : { ...own, cpuExperts } },
      ...{ feasible, tokenSeconds, diskSeconds: breakdown.seconds.disk, fitsGpu: !lacks.includes('vram') },
    };
  });
  for (let cpuUnits = 0; cpuUnits <= partitionUnits(model); cpuUnits++) {
    const counts = [0, ...(options.experts === 'with-layers' ? [] : expertCounts(model, cpuUnits))];
    const own = search({ cpuUnits, first: cpuLayersOf(model, cpuUnits), counts });
    curve.push(own.candidate);
    if (own.feasible && (best === undefined || isBetter(own.candidate, best.candidate))) best = own;
  }
  if (best !== undefined) return { plan: best.plan, curve, best: best.candidate };
  const message = `no split of ${model.name} fits ${device.name}’s VRAM and RAM; use a smaller model, a shorter context or more memory`;
  return { ...noPlan('fits-nowhere', message), curve, best: undefined };
}

/** A boundary k of the search, by the units before it. */
interface Units extends Boundary {
  readonly cpuUnits: number;
}

/** Whether a split can run and takes less time than another, or the other can't run. */
function isBetter(one: SplitCandidate, other: SplitCandidate): boolean {
  return one.feasible && !(other.feasible && other.tokenSeconds <= one.tokenSeconds);
}

/** Numbers of the GPU's first layers that may have their experts on the CPU: up to each layer that has some. */
function expertCounts(shape: Shape, cpuUnits: number): number[] {
  const first = cpuLayersOf(shape, cpuUnits);
  const own = shape.kinds.slice(first);
  return own.flatMap(({ feedForward }, index) => (feedForward?.kind === 'experts' ? [index + 1] : []));
}

function predictorOf(
  { belief, model, workload, runtime }: SchedulingProblem,
  options: CpuGpuSplitOptions,
): (plan: Plan) => Breakdown {
  const {
    objective: phase = 'decode',
    formulas = 'roofline',
    device: _device,
    kvCache: _kv,
    ram: _ram,
    experts: _experts,
    ...rest
  } = options;
  const running = runtime === undefined ? {} : { runtime };
  switch (formulas) {
    case 'roofline':
      return createSplitPredictor(belief, model, workload, { ...rest, ...running, phase });
    case 'sum': {
      const { paging } = rest;
      // Nothing crosses to a GPU that a plan doesn't use, which the formulas count for every window (Eq. 13).
      const parts = { ...running, phase, ...(paging && { paging }) };
      const withGpu = createRingPredictor(belief, model, workload, parts);
      const alone = createRingPredictor(withoutGpus(belief), model, workload, parts);
      return (plan) => (usesGpu(plan) ? withGpu(plan) : alone(plan));
    }
  }
}

/** Whether a plan runs anything on a GPU. */
export function usesGpu({ embedding, stages, output }: Plan): boolean {
  return [embedding, ...stages, output].some(({ processor }) => processor === 'gpu');
}

/** Layers on the CPU with the first `cpuUnits` units there, of which the embedding is one. */
function cpuLayersOf({ layers }: Pick<Shape, 'layers'>, cpuUnits: number): number {
  return Math.min(Math.max(cpuUnits - 1, 0), layers);
}

/**
 * The plan with the first `cpuUnits` units on the CPU and the others on the GPU.
 * @param cpuExperts the GPU's first layers whose experts are on the CPU
 */
export function splitPlan(
  device: string,
  shape: Shape,
  cpuUnits: number,
  kvCache: Plan['kvCache'] = 'host',
  cpuExperts = 0,
): Plan {
  const cpuLayers = cpuLayersOf(shape, cpuUnits);
  const place = (processor: ProcessorKind) => ({ device, processor });
  const stages: Stage[] = [
    { ...place('cpu'), from: 0, to: cpuLayers },
    { ...place('gpu'), from: cpuLayers, to: shape.layers, ...(cpuExperts > 0 && { cpuExperts }) },
  ];
  return createPlan({
    scheduler: 'cpu-gpu-split',
    rounds: 1,
    stages: stages.filter((stage) => stage.to > stage.from),
    embedding: place(cpuUnits >= 1 ? 'cpu' : 'gpu'),
    output: place(cpuUnits === partitionUnits(shape) ? 'cpu' : 'gpu'),
    weights: { [device]: NO_WEIGHTS_POLICY },
    kvCache,
  });
}

function candidateOf(
  { stages, seconds, devices, tokenSeconds }: Breakdown,
  cpuUnits: number,
  units: number,
  lacks: SplitCandidate['lacks'],
): SplitCandidate {
  const secondsOn = (processor: ProcessorKind): number =>
    stages
      .filter((stage) => stage.processor === processor)
      .reduce((sum, { seconds: { compute, memory, overhead } }) => sum + compute + memory + overhead, 0);
  return {
    cpuUnits,
    gpuUnits: units - cpuUnits,
    cpuSeconds: secondsOn('cpu'),
    gpuSeconds: secondsOn('gpu'),
    copySeconds: seconds.deviceCopy,
    tokenSeconds,
    gpuBytes: devices[0]?.vramBytes ?? 0,
    ramBytes: devices[0]?.ramBytes ?? 0,
    lacks,
    feasible: lacks.length === 0,
  };
}
