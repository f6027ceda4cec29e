import { type Cluster, deviceIndex } from '../hardware/cluster.ts';
import { type Device, hasUnifiedGpu, type ProcessorKind, transferSeconds } from '../hardware/device.ts';
import { InputError } from '../input/input-error.ts';
import { kvBytesPerToken, type Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Plan } from '../plan/plan.ts';
import {
  addSeconds,
  type Breakdown,
  type DeviceBreakdown,
  type Infeasibility,
  noSeconds,
  type Seconds,
  type StageBreakdown,
  totalSeconds,
} from './breakdown.ts';
import { type KvPaging, kvPages } from './kv-pages.ts';
import { reservedKvBytes } from './layer-seconds.ts';
import {
  activationBytes,
  type BoundSeconds,
  blockSeconds,
  checkEfficiencies,
  headSeconds,
  ROOFLINE_RUNTIME,
  type RooflineOptions,
  type RooflineProcessor,
} from './roofline.ts';
import type { Runtime } from './runtime.ts';

export interface SplitPredictionOptions extends RooflineOptions {
  /** `per-block`: T̂ = T_plan + N δ̄, N all blocks, wherever they run (HELM 6.4.4); `none`: T_plan alone. */
  readonly overhead?: 'none' | 'per-block';
  readonly runtime?: Runtime;
  /**
   * Where an offloaded KV cache lies: in RAM as a whole unless given, as Eq. 4.16 has it; or in pages, of which the GPU
   * keeps what it has room for. Its copies take no time either way: the thesis takes them as hidden (4.2.3).
   */
  readonly paging?: KvPaging;
}

/**
 * A predictor of TPOT by HELM's roofline formulas (Eqs. 4.7–4.16) for plans on one device, its CPU and GPU in any
 * order. Plans must be valid (validatePlan). Copies over PCIe count with the stage that waits for them. Infeasible are
 * plans whose GPU part exceeds the VRAM (Eq. 4.16), and, which the thesis leaves out, those whose CPU part exceeds the
 * RAM: HELM reads no weights from disk.
 * @throws InputError for efficiencies outside (0, 1]; the predictor throws it for a plan on several devices
 */
export function createSplitPredictor(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  options: SplitPredictionOptions = {},
): (plan: Plan) => Breakdown {
  checkEfficiencies(options);
  return (plan) => {
    const device = onlyDevice(plan, cluster);
    const stages = stageBreakdowns(plan, device, { model, workload }, options);
    const use = splitMemory(plan, device, { model, workload }, options);
    const seconds = noSeconds();
    for (const stage of stages) addSeconds(seconds, stage.seconds);
    const summary: DeviceBreakdown = {
      device: device.name,
      cpuLayers: layersOn(plan, 'cpu'),
      gpuLayers: layersOn(plan, 'gpu'),
      windows: 1,
      seconds,
      reloadedBytes: 0,
      ...use,
    };
    const infeasible = shortages(summary);
    return { tokenSeconds: totalSeconds(seconds), infeasible, seconds, devices: [summary], stages, reloadedBytes: 0 };
  };
}

interface Task {
  readonly model: Model;
  readonly workload: Workload;
}

function onlyDevice(plan: Plan, cluster: Cluster): Device {
  const names = [...new Set([plan.embedding, ...plan.stages, plan.output].map((place) => place.device))];
  if (names.length > 1) {
    const found = `lie on ${names.length} devices (${names.join(', ')})`;
    throw new InputError('plan: stages', `${found}; the roofline formulas are for one: use the ring formulas`);
  }
  if (plan.stages.some(({ cut, streamed, partition }) => cut ?? streamed ?? partition)) {
    throw new InputError(
      'plan: stages',
      'are cut or streamed, which the roofline formulas leave out: use the ring formulas',
    );
  }
  return cluster.devices[deviceIndex(cluster, plan.output.device)] as Device;
}

function stageBreakdowns(
  plan: Plan,
  device: Device,
  { model, workload }: Task,
  options: SplitPredictionOptions,
): StageBreakdown[] {
  const { overhead = 'none', runtime = ROOFLINE_RUNTIME } = options;
  const message = activationBytes(model, workload, runtime);
  // T_comm (Eq. 4.15). CPU and GPU of a unified memory need no copy.
  const copy = device.gpu?.api === 'cuda' ? transferSeconds(device.gpu.hostLink, message) : 0;
  const perBlock = overhead === 'per-block' ? (device.gpu?.layerOverhead ?? 0) : 0;
  let before = plan.embedding.processor;
  const withCauses = (processor: ProcessorKind, layers: number, { compute, memory }: BoundSeconds): Seconds => {
    const deviceCopy = processor === before ? 0 : copy;
    before = processor;
    return { ...noSeconds(), compute, memory, deviceCopy, overhead: layers * perBlock };
  };
  const stages = plan.stages.map(({ processor, from, to }): StageBreakdown => {
    const layers = to - from;
    const onProcessor = {
      model,
      workload,
      processor: processorOf(device, processor),
      blocks: layersOn(plan, processor),
    };
    const { compute, memory } = blockSeconds(onProcessor, options);
    const seconds = withCauses(processor, layers, { compute: layers * compute, memory: layers * memory });
    return { device: device.name, processor, layers, output: false, seconds };
  });
  const { processor } = plan.output;
  const head = headSeconds({ model, workload, processor: processorOf(device, processor) }, options);
  stages.push({ device: device.name, processor, layers: 0, output: true, seconds: withCauses(processor, 0, head) });
  return stages;
}

function processorOf(device: Device, kind: ProcessorKind): RooflineProcessor {
  const processor = kind === 'cpu' ? device.cpu : device.gpu;
  if (processor === undefined) throw new RangeError(`the plan uses a GPU that "${device.name}" lacks`);
  return processor;
}

function layersOn(plan: Plan, processor: ProcessorKind): number {
  return plan.stages.reduce((sum, stage) => sum + (stage.processor === processor ? stage.to - stage.from : 0), 0);
}

type MemoryUse = Pick<DeviceBreakdown, 'ramBytes' | 'ramAvailable' | 'vramBytes' | 'vramAvailable' | 'pinnedBytes'>;

/**
 * Both sides of Eq. 4.16, and the same for the RAM. 1_kv-GPU is 1 where the KV cache lies with its layers; W_kv^total
 * is then that of the GPU's blocks, as the CPU's read their own. A tied matrix counts once on a side that has both ends.
 */
function splitMemory(
  plan: Plan,
  device: Device,
  { model, workload }: Task,
  { runtime = ROOFLINE_RUNTIME, paging }: SplitPredictionOptions,
): MemoryUse {
  const weights = (side: ProcessorKind): number => {
    const output = plan.output.processor === side ? model.output.bytes : 0;
    const shared = model.tiedEmbeddings && output > 0;
    const embedding = plan.embedding.processor === side && !shared ? model.embedding.bytes : 0;
    return layersOn(plan, side) * model.layer.bytes + embedding + output;
  };
  const gpuKv = layersOn(plan, 'gpu') * reservedKvBytes(model, workload);
  const cpuKv = layersOn(plan, 'cpu') * reservedKvBytes(model, workload);
  const gpuBuffers = device.gpu === undefined ? 0 : runtime.gpuBufferBytes;
  const vramAvailable = Math.max(0, (device.gpu?.memory.available ?? 0) - gpuBuffers);
  const pages =
    paging && plan.kvCache === 'host' && device.gpu?.api === 'cuda' && gpuKv > 0
      ? kvPages({
          paging,
          layers: layersOn(plan, 'gpu'),
          tokens: Math.max(workload.context, workload.reservedContext ?? 0),
          tokenBytes: kvBytesPerToken(model) * workload.batch,
          poolBytes: vramAvailable - weights('gpu'),
        })
      : undefined;
  const offloaded = pages?.ramBytes ?? (plan.kvCache === 'host' ? gpuKv : 0);
  const kvInVram = pages?.gpuBytes ?? gpuKv - offloaded;
  const vram = weights('gpu') + kvInVram;
  const pinned = runtime.cpuBufferBytes + cpuKv + offloaded;
  const unified = hasUnifiedGpu(device);
  return {
    ramBytes: weights('cpu') + pinned + (unified ? vram + gpuBuffers : 0),
    ramAvailable: device.memory.available,
    vramBytes: vram,
    vramAvailable,
    pinnedBytes: pinned + (unified ? kvInVram + gpuBuffers : 0),
  };
}

function shortages(use: DeviceBreakdown): Infeasibility[] {
  const found: Infeasibility[] = [];
  const report = (memory: 'ram' | 'vram', neededBytes: number, availableBytes: number): void => {
    if (neededBytes <= availableBytes) return;
    const parts = memory === 'vram' ? 'layers on the GPU need' : 'layers on the CPU and the KV cache need';
    const reason = `${use.device}: ${parts} ${gigabytes(neededBytes)}, ${gigabytes(availableBytes)} are available`;
    found.push({ device: use.device, memory, neededBytes, availableBytes, reason });
  };
  report('vram', use.vramBytes, use.vramAvailable);
  report('ram', use.ramBytes, use.ramAvailable);
  return found;
}

/** Decimal, as HELM counts memory. */
function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
