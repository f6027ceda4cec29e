import { deviceSeconds } from '../../cost/device-seconds.ts';
import { type KvPages, type KvPaging, kvPages } from '../../cost/kv-pages.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../cost/ring-costs.ts';
import { isDiscrete, type ProcessorKind, transferSeconds } from '../../hardware/device.ts';
import { appendedBytes } from '../../model/kept-bytes.ts';
import { createPlan } from '../../plan/create-plan.ts';
import { noPlan, type Scheduled, type SchedulingProblem } from '../scheduler.ts';
import { bestChain, splitStages } from './chain.ts';

/** The plans among which HELM's scheduler for rings chooses. */
export interface HelmRingOptions {
  /** `search`: each device divides its layers between CPU and GPU; `none`: all of them run on one of the two. */
  readonly split?: 'search' | 'none';
  /**
   * How KV caches of GPU layers are paged: VRAM then needs room for a page and for pages under way, and evicted pages
   * are copied back for every token (HELM 4.2.2). Unless given, all KV caches are in RAM, and reading them takes no
   * time.
   */
  readonly paging?: KvPaging;
}

interface Division {
  readonly gpuLayers: number;
  readonly output: ProcessorKind | undefined;
  readonly seconds: number;
}

const NOWHERE: Division = { gpuLayers: 0, output: undefined, seconds: Number.POSITIVE_INFINITY };

/**
 * A ring whose devices divide their layers between CPU and GPU by HELM's search, which tries every division. It has one
 * round; KV caches are in RAM, unless the problem wants them next to their layers, so that VRAM holds weights only, or in
 * pages between RAM and VRAM. Weights in RAM are mapped, and those that exceed it are read from disk for every token
 * (prima.cpp Eqs. 12–19, `overflow`). The plan is the fastest of all such plans, by dynamic programming over devices and
 * layers (bestChain).
 */
export function helmRing(problem: SchedulingProblem, { split = 'search', paging }: HelmRingOptions = {}): Scheduled {
  const { belief, model, workload, runtime, kvCache = 'host' } = problem;
  const costs = createRingCosts(belief, model, workload, runtime);
  const task: DivisionTask = { problem, costs, split, paging, kvInRam: kvCache === 'host' };
  const divisions = costs.devices.map((_, index) =>
    Array.from({ length: model.layers + 1 }, (_, layers) => divide(task, index, layers)),
  );
  const divisionOf = (index: number, layers: number): Division => divisions[index]?.[layers] ?? NOWHERE;
  const secondsOf = (index: number, layers: number): number => divisionOf(index, layers).seconds;
  const found = bestChain({
    layers: model.layers,
    devices: costs.devices.length,
    head: (layers) => secondsOf(0, layers),
    alone: secondsOf(0, model.layers),
    device: secondsOf,
    hop: costs.hop,
  });
  if (found === undefined) {
    const message = `the KV cache and buffers of ${model.name} fit nowhere in ${belief.name}; use a shorter context or more devices`;
    return noPlan('fits-nowhere', message);
  }
  const parts = found.layers.map((layers, index) => {
    const { gpuLayers } = divisionOf(index, layers);
    return { device: costs.devices[index]?.name ?? '', layers, gpuLayers };
  });
  const head = costs.devices[0] as DeviceCosts;
  const plan = createPlan({
    scheduler: 'helm-ring',
    rounds: 1,
    stages: splitStages(parts),
    embedding: { device: head.name, processor: 'cpu' },
    output: { device: head.name, processor: divisionOf(0, found.layers[0] as number).output ?? 'cpu' },
    weights: {},
    kvCache,
  });
  return { plan };
}

interface DivisionTask {
  readonly problem: SchedulingProblem;
  readonly costs: RingCosts;
  readonly split: NonNullable<HelmRingOptions['split']>;
  readonly paging: KvPaging | undefined;
  readonly kvInRam: boolean;
}

/** The best division of this many layers on the device at `index`, and the head's best processor for the output layer. */
function divide(task: DivisionTask, index: number, layers: number): Division {
  const { costs, split, kvInRam } = task;
  const device = costs.devices[index] as DeviceCosts;
  const hasGpu = device.gpu !== undefined;
  const counts = Array.from({ length: layers + 1 }, (_, count) => count).filter(
    (count) => (hasGpu || count === 0) && (split === 'search' || count === 0 || count === layers),
  );
  const outputs = index > 0 ? [undefined] : hasGpu ? (['cpu', 'gpu'] as const) : (['cpu'] as const);
  let best = NOWHERE;
  for (const gpuLayers of counts) {
    for (const output of outputs) {
      const pages = pagesOf(task, index, gpuLayers, output);
      const cpuLayers = layers - gpuLayers;
      const load = { cpuLayers, gpuLayers, output, prefetches: false, kvInRam, kvPages: pages };
      const copies = pages?.seconds ?? 0;
      const seconds = deviceSeconds(costs, device, load, layers > 0 ? 1 : 0, 'overflow') + copies;
      if (seconds < best.seconds) best = { gpuLayers, output, seconds };
    }
  }
  return best;
}

/** The pages of GPU layers, with the seconds in which a token's evicted pages are copied back, nothing hidden. */
function pagesOf(
  { problem: { belief, model, workload }, costs, paging }: DivisionTask,
  index: number,
  gpuLayers: number,
  output: ProcessorKind | undefined,
): (KvPages & { readonly seconds: number }) | undefined {
  const gpu = belief.devices[index]?.gpu;
  if (paging === undefined || !isDiscrete(gpu) || gpuLayers === 0) return undefined;
  const weights = gpuLayers * model.layer.bytes + (output === 'gpu' ? model.output.bytes : 0);
  const poolBytes = (costs.devices[index] as DeviceCosts).gpuRoom - weights;
  const tokenBytes = appendedBytes(model, workload.kvFormat) * workload.batch;
  const pages = kvPages({ paging, layers: gpuLayers, tokens: workload.context, tokenBytes, poolBytes });
  return { ...pages, seconds: gpuLayers * pages.evicted * transferSeconds(gpu.hostLink, pages.sliceBytes) };
}
