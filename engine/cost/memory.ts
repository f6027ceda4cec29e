import type { ProcessorKind } from '../hardware/device.ts';
import type { Model } from '../model/model.ts';
import type { FittedPlan, Plan, Stage } from '../plan/plan.ts';
import { type FittedPolicy, fitPolicy, isFitted, type Release, type WeightsPolicy } from '../plan/weights-policy.ts';
import { windowsOf } from '../plan/windows.ts';
import { expertTable } from './crossed-experts.ts';
import { STREAMING_BUFFERS } from './layer-streaming.ts';
import { type ReclaimPolicy, reloadedBytes, roomForWeights } from './reclaim.ts';
import type { DeviceCosts, RingCosts } from './ring-costs.ts';
import { readOfMissing, reclaimOfRouted } from './routed-reads.ts';

/** Layers that one device holds over all its windows, and how it manages their weights. */
export interface DeviceLoad {
  /** l_m^gpu and l_m − l_m^gpu */
  readonly gpuLayers: number;
  readonly cpuLayers: number;
  /** The processor of the output layer on the head, which also looks up the token; `undefined` on other devices. */
  readonly output: 'cpu' | 'gpu' | undefined;
  readonly prefetches: boolean;
  /**
   * Treatment of a window after it has run, and bytes of pinned weights; left to the operating system by default.
   */
  readonly release?: Release;
  readonly pinnedBytes?: number;
  /** Whether the KV cache of GPU layers lies in RAM (HELM's offload). */
  readonly kvInRam: boolean;
  /** Bytes of KV pages on the GPU and in RAM, if that offload is paged. */
  readonly kvPages?: { readonly gpuBytes: number; readonly ramBytes: number } | undefined;
  /** Weights copied from RAM to the GPU for every token. */
  readonly streamed?: StreamedLoad;
  /** Layers on the GPU whose experts are on the CPU. */
  readonly crossed?: readonly LayerRange[];
}

/** Layers `from` up to, not including, `to`. */
export type LayerRange = Pick<Stage, 'from' | 'to'>;

/** The layers of stages whose experts are on the CPU. */
export function crossedRanges(stages: readonly Stage[]): LayerRange[] {
  return stages.flatMap(({ from, cpuExperts = 0 }) => (cpuExperts === 0 ? [] : [{ from, to: from + cpuExperts }]));
}

/** Bytes of the experts of GPU layers that the CPU has. */
export function crossedBytes(
  { experts }: Pick<RingCosts, 'experts'>,
  { crossed }: Pick<DeviceLoad, 'crossed'>,
): number {
  // Planners ask this for each of a million loads.
  if (crossed === undefined) return 0;
  return crossed.reduce((sum, { from, to }) => sum + experts.bytes(from, to), 0);
}

/** Weights that a device copies from RAM to its GPU for every token. */
export interface StreamedLoad {
  readonly layers: number;
  /** The number of layers that the GPU buffers at once. */
  readonly buffers: number;
  /** Whether the output layer is copied too. */
  readonly output: boolean;
}

/** The load of one device's stages, without its weights policy. */
export function loadOfStages(
  { kvCache, output: place }: Pick<Plan, 'kvCache' | 'output'>,
  stages: readonly Stage[],
  output: DeviceLoad['output'],
): DeviceLoad {
  const isHead = stages.some(({ device }) => device === place.device);
  const streamed = { layers: 0, buffers: 0, output: isHead && place.streamed !== undefined };
  const layers = { cpu: 0, gpu: 0 };
  for (const { processor, from, to, streamed: way } of stages) {
    layers[processor] += to - from;
    if (way === undefined) continue;
    streamed.layers += to - from;
    streamed.buffers = Math.max(streamed.buffers, STREAMING_BUFFERS[way]);
  }
  const kvInRam = kvCache === 'host';
  const crossed = crossedRanges(stages);
  return { cpuLayers: layers.cpu, gpuLayers: layers.gpu, output, prefetches: false, kvInRam, streamed, crossed };
}

/** Bytes of memory that a load takes, and bytes that are reloaded because memory is short. */
export interface DeviceMemoryUse {
  readonly ram: number;
  readonly vram: number;
  /** The part of `ram` that can't be reclaimed: KV cache, buffers, streamed and pinned weights. */
  readonly nonReclaimable: number;
  readonly reloaded: number;
}

/** The memory use of a load (prima.cpp Eqs. 15–17, 33–35). */
export function memoryUse(
  costs: RingCosts,
  device: DeviceCosts,
  load: DeviceLoad,
  policy: ReclaimPolicy,
): DeviceMemoryUse {
  const weights = mappedBytes(costs, device, load);
  const fixed = fixedBytes(costs, device, load);
  const ram = weights + fixed;
  const keeps = Math.min(load.pinnedBytes ?? 0, weights);
  const reloaded = loadedBytes(costs, device, load, { weights, fixed }, policy);
  return { ram, vram: vramBytes(costs, device, load), nonReclaimable: fixed + keeps, reloaded };
}

/**
 * Bytes of weights read for every token: all but the pinned ones if windows are released, else those reclaimed; of
 * experts those that a token uses.
 * @param bytes mappedBytes and fixedBytes of the load
 */
export function loadedBytes(
  costs: Pick<RingCosts, 'routed' | 'experts'>,
  device: DeviceCosts,
  load: DeviceLoad,
  { weights, fixed }: { readonly weights: number; readonly fixed: number },
  policy: ReclaimPolicy,
): number {
  const { release = 'none', pinnedBytes = 0, prefetches } = load;
  const reclaim = reclaimOfRouted(policy, costs.routed);
  const missing =
    release !== 'none'
      ? Math.max(0, weights - pinnedBytes)
      : reloadedBytes(weights + fixed, weights, device.available, device.kind, reclaim, prefetches);
  const { bytes, share } = costs.routed;
  // Planners ask this for each of a million loads.
  return bytes === 0 || missing === 0
    ? missing
    : readOfMissing(missing, { bytes: mappedLayers(device, load) * bytes + mappedCrossed(costs, device, load), share });
}

/** Bytes of experts in RAM whose layers are in a GPU's own memory. */
function mappedCrossed(
  costs: Pick<RingCosts, 'experts'>,
  { unified }: Pick<DeviceCosts, 'unified'>,
  load: DeviceLoad,
): number {
  return unified ? 0 : crossedBytes(costs, load);
}

/** Layers whose weights are mapped into RAM. */
function mappedLayers({ unified }: Pick<DeviceCosts, 'unified'>, { cpuLayers, gpuLayers }: DeviceLoad): number {
  return cpuLayers + (unified ? gpuLayers : 0);
}

/**
 * b_lio: bytes of mapped weights in RAM: layers, experts of GPU layers that are there, and on the head a row of the
 * embedding and the output layer.
 */
export function mappedBytes(costs: RingCosts, device: DeviceCosts, load: DeviceLoad): number {
  const layers = mappedLayers(device, load) * costs.layerBytes + mappedCrossed(costs, device, load);
  if (load.output === undefined) return layers;
  const output = load.output === 'cpu' || device.unified ? costs.outputBytes : 0;
  return layers + costs.embeddingRowBytes + output;
}

/**
 * Bytes of RAM that can't be reclaimed even if no weights are pinned: KV cache, buffers, and weights streamed to a GPU.
 * @param costs bytes of a layer's weights, of its KV cache and of the output layer
 */
export function fixedBytes(
  costs: Pick<RingCosts, 'layerBytes' | 'kvBytes' | 'outputBytes'>,
  device: Pick<DeviceCosts, 'unified' | 'ramBuffers'>,
  load: DeviceLoad,
): number {
  const allInRam = device.unified || (load.kvInRam && load.kvPages === undefined);
  const layers = load.cpuLayers + (allInRam ? load.gpuLayers : 0);
  const pages = load.kvPages?.ramBytes ?? 0;
  const output = load.streamed?.output ? costs.outputBytes : 0;
  return layers * costs.kvBytes + pages + device.ramBuffers + (load.streamed?.layers ?? 0) * costs.layerBytes + output;
}

/**
 * Bytes of VRAM: GPU layers (buffers only for streamed ones) less experts that the CPU has, their KV cache, and the
 * output layer if it is there; a streamed output layer takes the place of the streamed layers, which have been computed
 * then. Eq. 35 reserves b_o on every Metal head.
 */
export function vramBytes(costs: RingCosts, device: DeviceCosts, load: DeviceLoad): number {
  const { gpuLayers, streamed = { layers: 0, buffers: 0, output: false } } = load;
  const passing = Math.min(streamed.layers, streamed.buffers) * costs.layerBytes;
  const kv = load.kvPages?.gpuBytes ?? (load.kvInRam ? 0 : gpuLayers * costs.kvBytes);
  const held = (gpuLayers - streamed.layers) * costs.layerBytes - crossedBytes(costs, load) + kv;
  if (streamed.output) return held + Math.max(passing, costs.outputBytes);
  const layers = held + passing;
  const reserved = load.output === 'gpu' || (load.output === 'cpu' && device.kind === 'macos-metal');
  return reserved ? layers + costs.outputBytes : layers;
}

/** Disk seconds for a token: the reloaded bytes, and on the head at least a row of the embedding (Eqs. 15–17). */
export function diskSeconds(costs: RingCosts, device: DeviceCosts, load: DeviceLoad, reloaded: number): number {
  const lookup = load.output === undefined ? 0 : costs.embeddingRowBytes;
  return Math.max(reloaded, lookup) / device.reloadRate;
}

/**
 * Layers per window that the GPU's memory holds with their KV cache, for `rounds` windows, in addition to the output
 * layer if that is there (prima.cpp Eqs. 34, 35; a Metal head keeps room for it in any case). A quotient may round
 * across the limit, so the sum of the bytes decides, as it does in a prediction.
 * @param output where the head's output layer runs; undefined on other devices
 */
export function gpuLayerRoom(
  costs: RingCosts,
  device: DeviceCosts,
  output: ProcessorKind | undefined,
  rounds = 1,
): number {
  if (device.gpu === undefined) return 0;
  const layer = costs.layerBytes + costs.kvBytes;
  const reserved = output === 'gpu' || (output === 'cpu' && device.kind === 'macos-metal') ? costs.outputBytes : 0;
  let room = Math.max(0, Math.floor((device.gpuRoom - reserved) / (layer * rounds)) + 1);
  while (room > 0 && room * rounds * layer + reserved > device.gpuRoom) room--;
  return room;
}

/**
 * Bytes of weights that a plan keeps on a device's GPU; a tied matrix counts once if embedding and output are there.
 */
export function gpuWeightBytes(plan: Plan, model: Model, device: string): number {
  const onGpu = (place: { readonly device: string; readonly processor: string }): boolean =>
    place.device === device && place.processor === 'gpu';
  const own = plan.stages.filter(onGpu);
  const layers =
    own.reduce((sum, { from, to }) => sum + (to - from) * model.layer.bytes, 0) -
    crossedBytes({ experts: expertTable(model) }, { crossed: crossedRanges(own) });
  const output = onGpu(plan.output) ? model.output.bytes : 0;
  const shared = model.tiedEmbeddings && output > 0;
  const embedding = onGpu(plan.embedding) && !shared ? model.embedding.bytes : 0;
  return layers + embedding + output;
}

/**
 * The plan with all weights policies fitted: whatever a policy leaves to the device's memory (`fit`) is decided from
 * the memory of the cluster's devices. A plan without open choices is returned unchanged.
 */
export function fitWeights(plan: Plan, costs: RingCosts): FittedPlan {
  let open = false;
  for (const device in plan.weights) open ||= !isFitted(plan.weights[device] as WeightsPolicy);
  if (!open) return plan as FittedPlan;
  const weights = Object.entries(plan.weights).map(([name, policy]) => {
    const device = costs.devices.find((one) => one.name === name) as DeviceCosts;
    return [name, isFitted(policy) ? policy : fitDevice(plan, costs, device, policy)];
  });
  return { ...plan, weights: Object.fromEntries(weights) };
}

function fitDevice(plan: Plan, costs: RingCosts, device: DeviceCosts, policy: WeightsPolicy): FittedPolicy {
  const own = windowsOf(plan).filter((window) => window.device === device.name);
  const head = plan.output.device === device.name ? plan.output.processor : undefined;
  const windows = own.map((window) => mappedBytes(costs, device, loadOfStages(plan, window.stages, undefined)));
  const mapped = windows.reduce((sum, bytes) => sum + bytes, 0);
  const whole = loadOfStages(
    plan,
    own.flatMap(({ stages }) => stages),
    head,
  );
  const output = mappedBytes(costs, device, whole) - mapped;
  const room = roomForWeights(device.available - fixedBytes(costs, device, whole), mapped + output);
  return fitPolicy(policy, { windows, output, room });
}
