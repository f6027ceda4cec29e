import { type Cluster, deviceIndex } from '../hardware/cluster.ts';
import { type Device, isDiscrete, type ProcessorKind, transferSeconds } from '../hardware/device.ts';
import { InputError } from '../input/input-error.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Place, Plan, Stage } from '../plan/plan.ts';
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
import { crossingBytes, expertTable, withoutExperts } from './crossed-experts.ts';
import type { KvPaging } from './kv-pages.ts';
import { crossedBytes, crossedRanges } from './memory.ts';
import {
  activationBytes,
  blockSeconds,
  checkEfficiencies,
  expertsSeconds,
  headSeconds,
  ROOFLINE_RUNTIME,
  type RooflineOptions,
  type RooflineProcessor,
  tokensAtOnce,
} from './roofline.ts';
import type { Runtime } from './runtime.ts';
import { type SplitLoad, splitMemory } from './split-memory.ts';

/** Assumptions of the prediction of one machine whose CPU and GPU share the layers. */
export interface SplitPredictionOptions extends RooflineOptions {
  /**
   * `per-block`: T̂ = T_plan + N δ̄, where N counts all blocks, on whichever processor they run (HELM 6.4.4); `none`:
   * T_plan alone.
   */
  readonly overhead?: 'none' | 'per-block';
  readonly runtime?: Runtime;
  /**
   * Paging of an offloaded KV cache: the GPU keeps the pages that it has room for. By default the whole cache is in
   * RAM, as in Eq. 4.16. Copies take no time in either case, since the thesis assumes them to be hidden (4.2.3).
   */
  readonly paging?: KvPaging;
}

/**
 * Creates a predictor of TPOT, or of TTFT in prefill, by HELM's roofline formulas (Eqs. 4.7–4.16), for valid plans (validatePlan) on the CPU
 * and GPU of one device, in any order. Plans of several devices in one round, which the thesis leaves to future work
 * (7.1), are predicted too: T_plan is then the sum over all processors, copies between memories, and links between
 * devices. Copies over PCIe count with the stage that waits for them. Experts of GPU layers that the CPU has are a part of
 * T_proj there, with two copies for each such layer. A plan is infeasible if its GPU part exceeds the
 * VRAM (Eq. 4.16), or if its CPU part exceeds the RAM: HELM reads no weights from disk. The thesis omits the latter
 * check.
 * @throws InputError for efficiencies outside (0, 1]; the predictor throws it for a plan of several rounds, and for
 *   stages that are cut or streamed
 */
export function createSplitPredictor(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  options: SplitPredictionOptions = {},
): (plan: Plan) => Breakdown {
  checkEfficiencies(options);
  return (plan) => {
    checkStages(plan);
    const stages = stageBreakdowns(plan, cluster, { model, workload }, options);
    const seconds = noSeconds();
    for (const stage of stages) addSeconds(seconds, stage.seconds);
    const names = new Set([plan.output.device, ...plan.stages.map(({ device }) => device)]);
    const devices = [...names].map((name): DeviceBreakdown => {
      const device = cluster.devices[deviceIndex(cluster, name)] as Device;
      const own = noSeconds();
      for (const stage of stages) if (stage.device === name) addSeconds(own, stage.seconds);
      const use = splitMemory(splitLoad(plan, name, model), { device, model, workload, ...options });
      const { cpuLayers, gpuLayers } = splitLoad(plan, name, model);
      return { device: name, cpuLayers, gpuLayers, windows: 1, seconds: own, reloadedBytes: 0, ...use };
    });
    const infeasible = devices.flatMap(shortages);
    return { tokenSeconds: totalSeconds(seconds), infeasible, seconds, devices, stages, reloadedBytes: 0 };
  };
}

/** The parts of the model that a device holds under a plan. */
function splitLoad(plan: Plan, device: string, model: Model): SplitLoad {
  const isHead = plan.output.device === device;
  const crossed = crossedRanges(plan.stages.filter((stage) => stage.device === device));
  return {
    cpuLayers: layersOn(plan, device, 'cpu'),
    gpuLayers: layersOn(plan, device, 'gpu'),
    embedding: isHead ? plan.embedding.processor : undefined,
    output: isHead ? plan.output.processor : undefined,
    kvCache: plan.kvCache,
    crossedBytes: crossedBytes({ experts: expertTable(model) }, { crossed }),
  };
}

interface Task {
  readonly model: Model;
  readonly workload: Workload;
}

function checkStages(plan: Plan): void {
  if (plan.rounds > 1) {
    throw new InputError('plan: rounds', `is ${plan.rounds}; the roofline formulas are for one: use the ring formulas`);
  }
  const stages: readonly Stage[] = plan.stages;
  if (plan.kind === 'tensor-parallel' || stages.some(({ streamed, partition }) => streamed ?? partition)) {
    throw new InputError(
      'plan: stages',
      'are cut or streamed, which the roofline formulas leave out: use the ring formulas',
    );
  }
}

function stageBreakdowns(
  plan: Plan,
  cluster: Cluster,
  { model, workload }: Task,
  options: SplitPredictionOptions,
): StageBreakdown[] {
  const { runtime = ROOFLINE_RUNTIME } = options;
  const deviceOf = (name: string): Device => cluster.devices[deviceIndex(cluster, name)] as Device;
  let at: Place = plan.embedding;
  const ways = (to: Place): Pick<Seconds, 'deviceCopy' | 'link'> => {
    const way = wayBetween(at, to, { cluster, message: activationBytes(model, workload, runtime, options.phase) });
    at = to;
    return way;
  };
  const stages = plan.stages.flatMap((stage): StageBreakdown[] => {
    const { device, processor, from, to, cpuExperts } = stage;
    const layers = to - from;
    const blocks = layersOn(plan, device, processor);
    const on = { device: deviceOf(device), model, workload, blocks };
    if (cpuExperts !== undefined) return crossedStages({ ...on, stage, way: ways(stage) }, options);
    const own = stageSeconds({ ...on, processor, layers }, options);
    return [{ device, processor, layers, output: false, seconds: { ...own, ...ways(stage) } }];
  });
  const { device, processor } = plan.output;
  const head = headSeconds({ model, workload, processor: processorOf(deviceOf(device), processor) }, options);
  const seconds = { ...noSeconds(), ...head, ...ways(plan.output) };
  stages.push({ device, processor, layers: 0, output: true, seconds });
  return stages;
}

export interface StageOnProcessor extends Task {
  readonly device: Device;
  readonly processor: ProcessorKind;
  readonly layers: number;
  /** Number of blocks on that processor, over all stages. */
  readonly blocks: number;
}

/** Seconds of a stage, without the copies before it. @throws RangeError for a GPU that the device lacks */
export function stageSeconds(
  { device, model, workload, processor, layers, blocks }: StageOnProcessor,
  options: SplitPredictionOptions,
): Seconds {
  const perBlock = options.overhead === 'per-block' ? (device.gpu?.layerOverhead ?? 0) : 0;
  const on = { model, workload, processor: processorOf(device, processor), blocks };
  const { compute, memory } = blockSeconds(on, options);
  return { ...noSeconds(), compute: layers * compute, memory: layers * memory, overhead: layers * perBlock };
}

interface CrossedStage extends Task {
  readonly stage: Stage;
  readonly device: Device;
  readonly blocks: number;
  /** Seconds until the activations are there. */
  readonly way: Pick<Seconds, 'deviceCopy' | 'link'>;
}

/** A stage on the GPU whose first layers have their experts on the CPU: the parts of both, with what crosses to each. */
function crossedStages(
  { stage, device, model, workload, blocks, way }: CrossedStage,
  options: SplitPredictionOptions,
): StageBreakdown[] {
  const { from, to, cpuExperts = 0 } = stage;
  const { runtime = ROOFLINE_RUNTIME, phase } = options;
  const { layers } = expertTable(model);
  const away = layers(from, from + cpuExperts);
  const bytes = crossingBytes(model, tokensAtOnce(workload, phase), runtime);
  const copy = (of: number): number => (isDiscrete(device.gpu) ? transferSeconds(device.gpu.hostLink, of) : 0);
  const on = { device, workload, processor: 'gpu', blocks } as const;
  const onGpu = stageSeconds({ ...on, model: withoutExperts(model), layers: cpuExperts }, options);
  addSeconds(onGpu, stageSeconds({ ...on, model, layers: to - from - cpuExperts }, options));
  addSeconds(onGpu, { ...noSeconds(), ...way });
  const { compute, memory } = expertsSeconds({ model, workload, processor: device.cpu }, options);
  const onCpu = {
    ...{ ...noSeconds(), compute: away * compute, memory: away * memory },
    deviceCopy: away * copy(bytes.toCpu),
  };
  const own = { device: device.name, output: false };
  return [
    {
      ...{ ...own, processor: 'gpu', layers: to - from },
      seconds: { ...onGpu, deviceCopy: onGpu.deviceCopy + away * copy(bytes.toGpu) },
    },
    { ...own, processor: 'cpu', layers: 0, name: `experts of ${away} layers`, seconds: onCpu },
  ];
}

/**
 * Seconds of moving activations from one place to the next. Within a device this is T_comm (HELM Eq. 4.15), between a
 * CPU and a GPU with memory of its own; between devices it is the copy out of a GPU's memory, the network link, and the
 * copy into a GPU's memory.
 */
export function wayBetween(
  from: Place,
  to: Place,
  { cluster, message }: { readonly cluster: Cluster; readonly message: number },
): Pick<Seconds, 'deviceCopy' | 'link'> {
  const [one, other] = [deviceIndex(cluster, from.device), deviceIndex(cluster, to.device)];
  const copyOf = (index: number): number => {
    const gpu = cluster.devices[index]?.gpu;
    return isDiscrete(gpu) ? transferSeconds(gpu.hostLink, message) : 0;
  };
  if (one === other) return { deviceCopy: from.processor === to.processor ? 0 : copyOf(one), link: 0 };
  const out = from.processor === 'gpu' ? copyOf(one) : 0;
  const into = to.processor === 'gpu' ? copyOf(other) : 0;
  return { deviceCopy: out + into, link: transferSeconds(cluster.link(one, other), message) };
}

function processorOf(device: Device, kind: ProcessorKind): RooflineProcessor {
  const processor = kind === 'cpu' ? device.cpu : device.gpu;
  if (processor === undefined) throw new RangeError(`the plan uses a GPU that "${device.name}" lacks`);
  return processor;
}

function layersOn(plan: Plan, device: string, processor: ProcessorKind): number {
  return plan.stages
    .filter((stage) => stage.device === device && stage.processor === processor)
    .reduce((sum, { from, to }) => sum + to - from, 0);
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

/** A number of bytes as decimal gigabytes, which HELM uses. */
function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(2)} GB`;
}
