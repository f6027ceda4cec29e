import { HELM_PAGING } from '../engine/cost/kv-pages.ts';
import { DEFAULT_RUNTIME } from '../engine/cost/runtime.ts';
import { type Cluster, createCluster } from '../engine/hardware/cluster.ts';
import type { Device } from '../engine/hardware/device.ts';
import { parseCluster } from '../engine/hardware/parse-cluster.ts';
import { formatSeconds } from '../engine/input/format.ts';
import { InputError } from '../engine/input/input-error.ts';
import type { KvFormat } from '../engine/model/kv-format.ts';
import type { Model } from '../engine/model/model.ts';
import { createWorkload } from '../engine/model/workload.ts';
import type { Plan, SplitPlan } from '../engine/plan/plan.ts';
import type { GpuPaging } from '../engine/runtime/kv/gpu-pages.ts';
import { cpuGpuSplit, partitionUnits, splitPlan } from '../engine/schedule/helm/cpu-gpu-split.ts';
import { readCount } from '../engine/terminal/options.ts';
import { deviceProfile } from './device-profile.ts';

/** Number of layers that a GPU computes: `auto` is the plan of cpu-gpu-split for this machine. */
export type GpuLayers = number | 'all' | 'auto';

/** Reads `--gpu-layers`. @throws InputError */
export function readGpuLayers(text: string | undefined): GpuLayers {
  if (text === undefined) return 0;
  if (text === 'all' || text === 'auto') return text;
  if (/^\d+$/.test(text)) return readCount('--gpu-layers', text, 0);
  throw new InputError('--gpu-layers', `"${text}" is not a whole number; allowed: a number of layers, all, auto`);
}

/** Layers, from the model's first, whose experts are on the CPU. */
export type CpuExperts = number | 'all';

/** `--cpu-moe` and `--n-cpu-moe`, as commander passes them. */
export interface CpuExpertsTexts {
  readonly cpuMoe?: true;
  readonly nCpuMoe?: string;
}

/** Reads `--cpu-moe` and `--n-cpu-moe`. @throws InputError, also where no number of layers is on a GPU */
export function readCpuExperts(
  { cpuMoe, nCpuMoe }: CpuExpertsTexts,
  gpuLayers: string | undefined,
): CpuExperts | undefined {
  if (cpuMoe === undefined && nCpuMoe === undefined) return undefined;
  if (cpuMoe && nCpuMoe !== undefined)
    throw new InputError('--cpu-moe', 'is for all layers, --n-cpu-moe for the first ones; give one of them');
  const flag = cpuMoe ? '--cpu-moe' : '--n-cpu-moe';
  if (gpuLayers === undefined) throw new InputError(flag, 'is used only with --gpu-layers; add it');
  if (Number(gpuLayers) === 0) throw new InputError(flag, 'the CPU has all layers with --gpu-layers 0; leave it out');
  if (gpuLayers === 'auto')
    throw new InputError(flag, 'is for --gpu-layers with a number or all; auto decides that itself');
  return nCpuMoe === undefined ? 'all' : readCount('--n-cpu-moe', nCpuMoe, 1);
}

/**
 * The plan with the last layers and the output on the GPU.
 * @param cpuExperts layers whose experts are on the CPU whatever else is on the GPU
 * @throws InputError if the model doesn't have this many layers, or none on the GPU whose experts could be on the CPU
 */
export function planWithLayers(
  model: Model,
  gpuLayers: number | 'all',
  kvCache: Plan['kvCache'] = 'with-layers',
  cpuExperts?: CpuExperts,
): SplitPlan {
  const { layers } = model;
  const onGpu = gpuLayers === 'all' ? layers : gpuLayers;
  if (onGpu > layers)
    throw new InputError('--gpu-layers', `${onGpu} of a model of ${layers} layers; allowed: 0 to ${layers}, all, auto`);
  const plan = asSplit(splitPlan('this machine', model, 1 + layers - onGpu, kvCache));
  if (cpuExperts === undefined) return plan;
  const first = layers - onGpu;
  const own = stageExperts(model, first, cpuExperts);
  const stages = plan.stages.map((stage) => (stage.processor === 'gpu' ? { ...stage, cpuExperts: own } : stage));
  return { ...plan, stages };
}

/** Layers from `first` on whose experts are on the CPU. @throws InputError if there are none */
function stageExperts({ name, layers, kinds }: Model, first: number, cpuExperts: CpuExperts): number {
  const flag = cpuExperts === 'all' ? '--cpu-moe' : '--n-cpu-moe';
  const hasExperts = (layer: number): boolean => kinds[layer]?.feedForward?.kind === 'experts';
  const mixtures = kinds.flatMap((_, layer) => (hasExperts(layer) ? [layer] : []));
  if (mixtures.length === 0) throw new InputError(flag, `${name} has no experts; leave it out`);
  const end = cpuExperts === 'all' ? layers : cpuExperts;
  if (end > layers) throw new InputError(flag, `${end} of a model of ${layers} layers; allowed: 1 to ${layers}`);
  const least = mixtures.find((layer) => layer >= first);
  if (least === undefined)
    throw new InputError(flag, 'the GPU has no layers with experts; give --gpu-layers more, or leave it out');
  if (end <= least)
    throw new InputError(
      flag,
      `the experts of the first ${end} are not on the GPU anyway; allowed: ${least + 1} to ${layers}`,
    );
  return end - first;
}

export interface AutoRequest {
  readonly model: Model;
  /** The model's file, which lies on the disk to measure. */
  readonly file: string;
  readonly context: number;
  readonly promptTokens: number;
  readonly kvFormat: KvFormat;
  readonly threads: number;
  /** The GPU's name. */
  readonly gpu: string;
  /** A limit to the GPU's memory, with pages of its KV cache in RAM. */
  readonly paging: GpuPaging | undefined;
  /** A file of `hearth profile` with the GPU; `undefined`: both processors are measured. */
  readonly profile: string | undefined;
  readonly signal: AbortSignal;
  readonly log: (line: string) => void;
}

/**
 * The plan of cpu-gpu-split for this machine by its profile, with prima.cpp's formulas, for which `hearth profile`
 * measures rates; `undefined` if it leaves everything on the CPU.
 * @throws InputError for a profile without GPU, or a model that no split fits
 */
export async function planAutomatically(request: AutoRequest): Promise<SplitPlan | undefined> {
  const { model, context, promptTokens, kvFormat, paging, profile, log } = request;
  // Measured now, since what is free on the GPU decides.
  const device = await deviceProfile({ ...request, file: profile, model: request.file })(true);
  const text = `{"name": "this machine", "devices": [${device}], "links": {"default": {"latency": "1 ms", "bandwidth": "1 Gbps"}}}`;
  const measured = parseCluster(text, profile ?? 'the profile');
  if (measured.devices[0]?.gpu === undefined)
    throw new InputError(profile ?? 'profile', 'has no GPU; measure it: hearth profile --device <name>');
  const workload = createWorkload({ context, promptTokens, kvFormat });
  const belief = withGpuMemory(measured, paging?.gpuMemory);
  const { plan, best, curve, ...found } = cpuGpuSplit(
    { belief, model, workload },
    paging === undefined
      ? { formulas: 'sum', kvCache: 'with-layers' }
      : { formulas: 'sum', kvCache: 'host', paging: { ...HELM_PAGING, pageTokens: paging.pageTokens } },
  );
  if (plan === undefined || best === undefined)
    throw new InputError('--gpu-layers', 'message' in found ? found.message : 'no split fits');
  const alone = curve.find(({ gpuUnits }) => gpuUnits === 0)?.tokenSeconds ?? Number.POSITIVE_INFINITY;
  const compared = `predicted ${formatSeconds(best.tokenSeconds)} per token; on the CPU alone ${formatSeconds(alone)}`;
  const onCpu = best.cpuUnits === partitionUnits(model);
  const layers = plan.stages.reduce((sum, { processor, from, to }) => sum + (processor === 'gpu' ? to - from : 0), 0);
  const away = plan.stages.reduce((sum, { cpuExperts = 0 }) => sum + cpuExperts, 0);
  const experts = away === 0 ? '' : `, ${away} of them with their experts on the CPU`;
  log(onCpu ? `auto: no layers on the GPU (${compared})` : `auto: ${layers} layers on the GPU${experts} (${compared})`);
  return onCpu ? undefined : asSplit(plan);
}

/** The machine with at most this much memory on its GPU; buffers come on top, as where a plan is carried out. */
function withGpuMemory(cluster: Cluster, gpuMemory: number | undefined): Cluster {
  if (gpuMemory === undefined) return cluster;
  const limit = gpuMemory + DEFAULT_RUNTIME.gpuBufferBytes;
  const devices = cluster.devices.map((device): Device => {
    const { gpu } = device;
    if (gpu === undefined) return device;
    return { ...device, gpu: { ...gpu, memory: { ...gpu.memory, available: Math.min(gpu.memory.available, limit) } } };
  });
  return createCluster({ ...cluster, devices });
}

function asSplit(plan: Plan): SplitPlan {
  if (plan.kind !== 'split') throw new RangeError(`a plan of kind "${plan.kind}"`);
  return plan;
}
