import { chipDevice } from '../hardware/chip.ts';
import type { Cluster } from '../hardware/cluster.ts';
import {
  type Device,
  type DeviceKind,
  deviceKind,
  hasUnifiedGpu,
  isDiscrete,
  type ProcessorRates,
  reloadRate,
  transferSeconds,
} from '../hardware/device.ts';
import { InputError } from '../input/input-error.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { Relay } from '../plan/plan.ts';
import { stopsBetween } from '../plan/windows.ts';
import { type ChipSeconds, chipSeconds } from './chip/layer.ts';
import type { ChipPhase } from './chip/phase.ts';
import {
  type AskedCrossedLayers,
  crossedLayers,
  type ExpertTable,
  expertTable,
  type LayerTokens,
} from './crossed-experts.ts';
import {
  embeddingRowBytes,
  type LayerSeconds,
  layerSeconds,
  outputSeconds,
  prefillLayerSeconds,
  reservedKvBytes,
  totalLayerSeconds,
} from './layer-seconds.ts';
import { type PassLoad, passLayerSeconds, passOutputSeconds } from './mixed-pass.ts';
import { type RoutedWeights, routedWeights } from './routed-reads.ts';
import { DEFAULT_RUNTIME, type Runtime } from './runtime.ts';
import { verifyingLayerSeconds, verifyingOutputSeconds } from './speculation.ts';

/** The coefficients of one device in a ring's time; seconds and bytes. */
export interface DeviceCosts {
  readonly name: string;
  readonly kind: DeviceKind;
  readonly cpu: LayerSeconds;
  readonly gpu: LayerSeconds | undefined;
  /** Layers on the GPU whose experts are on the CPU. */
  readonly crossed: AskedCrossedLayers;
  /**
   * α_m: a layer on the CPU; α_m + β_m: a layer on the GPU (infinite where there is none), or cut between GPU and NPU.
   */
  readonly cpuLayer: number;
  readonly gpuLayer: number;
  /** Copies of the hidden state to and from a GPU with its own memory, per window: ξ_m less the link. */
  readonly windowCopy: number;
  /** A layer's weights over the host link, to a GPU with its own memory; infinite without one. */
  readonly layerCopy: number;
  /** The output layer's weights, likewise. */
  readonly outputCopy: number;
  /** Whether copies to the GPU and computing follow each other in one queue, as WebGPU has it. */
  readonly oneQueue: boolean;
  readonly outputOnCpu: LayerSeconds;
  readonly outputOnGpu: LayerSeconds | undefined;
  readonly outputOnCpuTotal: number;
  readonly outputOnGpuTotal: number;
  /** Whether CPU and GPU layers count against the same memory. */
  readonly unified: boolean;
  /** Bytes for weights, KV cache and buffers in RAM: d^avail, with Android's d^swapout, or d_metal^avail. */
  readonly available: number;
  /** Bytes of RAM that are installed, over which memory pressure is stated (prima.cpp 4.3). */
  readonly installed: number;
  /** c^cpu, and c^gpu where the GPU shares the RAM. */
  readonly ramBuffers: number;
  /** Bytes for GPU layers: d_cuda^avail or d_metal^avail, less c^gpu; 0 without a GPU. */
  readonly gpuRoom: number;
  /** s_m^disk: bytes per second at which reclaimed weights are reloaded. */
  readonly reloadRate: number;
}

/** The coefficients of a ring's time (prima.cpp Appendix A.3), evaluated once for a cluster, model and workload. */
export interface RingCosts {
  /** L */
  readonly layers: number;
  /** b, and what a layer's KV cache, as far as it is reserved, adds to it to make b′ */
  readonly layerBytes: number;
  readonly kvBytes: number;
  /** Experts among a layer's weights. */
  readonly routed: RoutedWeights;
  readonly experts: ExpertTable;
  /** b_i / V, and b_o */
  readonly embeddingRowBytes: number;
  readonly outputBytes: number;
  /** In ring order, the head first. */
  readonly devices: readonly DeviceCosts[];
  /** Seconds to hand 4e bytes from one device to another (t_m^comm, Eq. 19). */
  readonly hop: (from: number, to: number) => number;
  /** Seconds of a hop if all pairs of devices have the same link, else `undefined`. */
  readonly uniformHop: number | undefined;
}

type CreateCosts = (cluster: Cluster, model: Model, workload: Workload, runtime: Runtime) => RingCosts;

/** Results that are kept for a cluster: a planner asks again for the same ones with every plan. */
const REMEMBERED = 4;

/** Evaluates costs once for the same objects; runtimes are compared by their fields. The default is DEFAULT_RUNTIME. */
function remembered(
  create: CreateCosts,
): (cluster: Cluster, model: Model, workload: Workload, runtime?: Runtime) => RingCosts {
  interface Known {
    readonly model: Model;
    readonly workload: Workload;
    readonly runtime: Runtime;
    readonly costs: RingCosts;
  }
  const byCluster = new WeakMap<Cluster, Known[]>();
  return (cluster, model, workload, runtime = DEFAULT_RUNTIME) => {
    const own = byCluster.get(cluster) ?? [];
    byCluster.set(cluster, own);
    const found = own.find(
      (one) => one.model === model && one.workload === workload && isSameRuntime(one.runtime, runtime),
    );
    if (found !== undefined) return found.costs;
    const costs = create(cluster, model, workload, runtime);
    own.unshift({ model, workload, runtime, costs });
    own.length = Math.min(own.length, REMEMBERED);
    return costs;
  };
}

function isSameRuntime(one: Runtime, other: Runtime): boolean {
  return (
    one === other ||
    (one.cpuBufferBytes === other.cpuBufferBytes &&
      one.gpuBufferBytes === other.gpuBufferBytes &&
      one.headBufferBytes === other.headBufferBytes &&
      one.activationBytes === other.activationBytes &&
      one.partitions === other.partitions)
  );
}

/** Evaluates the coefficients of Appendix A.3 for every device; the same objects have the same coefficients. */
export const createRingCosts = remembered((cluster, model, workload, runtime) => {
  const message = runtime.activationBytes * model.hiddenSize * workload.batch;
  return {
    layers: model.layers,
    layerBytes: model.layer.bytes,
    routed: routedWeights(model, workload.batch),
    experts: expertTable(model),
    kvBytes: reservedKvBytes(model, workload),
    embeddingRowBytes: embeddingRowBytes(model) * workload.batch,
    outputBytes: model.output.bytes,
    devices: cluster.devices.map((device, index) => {
      const costs = deviceCosts(device, model, workload, runtime);
      return index === 0 ? { ...costs, ramBuffers: costs.ramBuffers + (runtime.headBufferBytes ?? 0) } : costs;
    }),
    ...linksFor(cluster, message),
  };
});

/**
 * The coefficients for a prompt, whose tokens go around the ring together: layers process all of them, links carry all
 * hidden states, and the output layer runs for the last token only. The KV cache holds the prompt.
 */
export const createPrefillCosts = remembered((cluster, model, workload, runtime) => {
  const costs = createRingCosts(cluster, model, { ...workload, context: workload.promptTokens }, runtime);
  const message = runtime.activationBytes * model.hiddenSize * workload.batch * workload.promptTokens;
  const devices = costs.devices.map((device, index): DeviceCosts => {
    const chip = chipCosts(cluster.devices[index] as Device, { model, workload, runtime, phase: 'prefill' });
    const { cpu, gpu } = cluster.devices[index] as Device;
    const onCpu = prefillLayerSeconds(model, workload, cpu);
    const onGpu = chip?.layer ?? (gpu && prefillLayerSeconds(model, workload, gpu));
    return {
      ...device,
      cpu: onCpu,
      gpu: onGpu,
      crossed: crossedLayers(cluster.devices[index] as Device, {
        ...{ model, runtime, tokens: { generated: 0, prompt: workload.batch * workload.promptTokens } },
        layerOf: (other, processor) => prefillLayerSeconds(other, workload, processor),
      }),
      cpuLayer: totalLayerSeconds(onCpu),
      gpuLayer: onGpu === undefined ? Number.POSITIVE_INFINITY : totalLayerSeconds(onGpu),
      windowCopy: isDiscrete(gpu) ? 2 * transferSeconds(gpu.hostLink, message) : 0,
    };
  });
  return {
    ...costs,
    routed: routedWeights(model, workload.batch * workload.promptTokens),
    devices,
    ...linksFor(cluster, message),
  };
});

/**
 * The coefficients of one pass that verifies several tokens of speculative decoding: processors compute all of them
 * while weights and KV cache are read once, links carry all hidden states, and the output layer runs for each.
 * @param tokens γ + 1
 * @throws InputError if a chip cuts operators between GPU and NPU, for more than one request
 */
export function createVerificationCosts(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  { runtime = DEFAULT_RUNTIME, tokens }: { readonly runtime?: Runtime | undefined; readonly tokens: number },
): RingCosts {
  const costs = createRingCosts(cluster, model, workload, runtime);
  const together = tokens > 1 ? 'text' : 'texts';
  const passing: LayerTokens = { generated: tokens * workload.batch, prompt: 0, together };
  const parts = { costs, cluster, model, runtime, tokens: passing };
  const cutOn = (device: Device) => chipCosts(device, { model, workload, runtime, phase: 'decode', decoded: tokens });
  return manyTokens({ ...parts, cutOn }, (model, processor) => ({
    layer: verifyingLayerSeconds({ model, workload, processor, tokens }),
    output: verifyingOutputSeconds({ model, workload, processor, tokens }),
  }));
}

/**
 * The coefficients of one pass of a server over tokens of several texts. Their KV cache is what `workload` reserves, as
 * the server's pages have fixed room.
 * @throws InputError if a chip cuts operators between GPU and NPU: their times are known for one text only
 */
export function createPassCosts(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  { runtime = DEFAULT_RUNTIME, load }: { readonly runtime?: Runtime | undefined; readonly load: PassLoad },
): RingCosts {
  const [chip] = runtime.partitions?.keys() ?? [];
  if (chip !== undefined)
    throw new InputError(
      'plan',
      `cuts operators on "${chip}"; passes over several texts are known for whole operators`,
    );
  const tokens: LayerTokens = { generated: load.generated, prompt: load.prompt };
  const costs = createRingCosts(cluster, model, workload, runtime);
  return manyTokens({ costs, cluster, model, runtime, tokens }, (model, processor) => ({
    layer: passLayerSeconds(model, { ...load, kvFormat: workload.kvFormat }, processor),
    output: passOutputSeconds(model, load, processor),
  }));
}

interface ManyTokens {
  readonly costs: RingCosts;
  readonly cluster: Cluster;
  readonly model: Model;
  readonly runtime: Runtime;
  /** Tokens that travel together. */
  readonly tokens: LayerTokens;
  /** Seconds on a chip that cuts operators; undefined for other devices. */
  readonly cutOn?: (device: Device) => ChipSeconds | undefined;
}

/** The coefficients of a pass over several tokens, whose seconds on a processor are given. */
function manyTokens(
  { costs, cluster, model, runtime, tokens: passing, cutOn }: ManyTokens,
  secondsOn: (
    model: Model,
    processor: ProcessorRates,
  ) => { readonly layer: LayerSeconds; readonly output: LayerSeconds },
): RingCosts {
  const tokens = passing.generated + passing.prompt;
  const message = runtime.activationBytes * model.hiddenSize * tokens;
  const total = (seconds: LayerSeconds | undefined): number =>
    seconds === undefined ? Number.POSITIVE_INFINITY : totalLayerSeconds(seconds);
  const devices = costs.devices.map((device, index): DeviceCosts => {
    const own = cluster.devices[index] as Device;
    const { cpu, gpu } = own;
    const [onCpu, onGpu] = [secondsOn(model, cpu), cutOn?.(own) ?? (gpu && secondsOn(model, gpu))];
    return {
      ...device,
      cpu: onCpu.layer,
      gpu: onGpu?.layer,
      crossed: crossedLayers(own, {
        ...{ model, runtime, tokens: passing },
        layerOf: (other, processor) => secondsOn(other, processor).layer,
      }),
      cpuLayer: total(onCpu.layer),
      gpuLayer: total(onGpu?.layer),
      outputOnCpu: onCpu.output,
      outputOnGpu: onGpu?.output,
      outputOnCpuTotal: total(onCpu.output),
      outputOnGpuTotal: total(onGpu?.output),
      windowCopy: isDiscrete(gpu) ? 2 * transferSeconds(gpu.hostLink, message) : 0,
    };
  });
  return {
    ...costs,
    routed: routedWeights(model, tokens),
    devices,
    embeddingRowBytes: tokens * embeddingRowBytes(model),
    ...linksFor(cluster, message),
  };
}

/** The hops of a cluster's links for a message of this many bytes. */
function linksFor(cluster: Cluster, message: number): Pick<RingCosts, 'hop' | 'uniformHop'> {
  const { links } = cluster;
  return {
    hop: (from, to) => (from === to ? 0 : transferSeconds(cluster.link(from, to), message)),
    uniformHop: links.pairs.size === 0 ? transferSeconds(links.default, message) : undefined,
  };
}

function deviceCosts(device: Device, model: Model, workload: Workload, runtime: Runtime): DeviceCosts {
  const { gpu } = device;
  const kind = deviceKind(device);
  const cpu = layerSeconds(model, workload, device.cpu);
  const chip = chipCosts(device, { model, workload, runtime, phase: 'decode' });
  const gpuSeconds = chip?.layer ?? (gpu && layerSeconds(model, workload, gpu));
  const unified = hasUnifiedGpu(device);
  const outputOnCpu = outputSeconds(model, workload, device.cpu);
  const outputOnGpu = chip?.output ?? (gpu && outputSeconds(model, workload, gpu));
  const swapOut = kind === 'android' ? Math.min(device.memory.swappable, device.memory.swapFree) : 0;
  const message = runtime.activationBytes * model.hiddenSize * workload.batch;
  const hostLink = isDiscrete(gpu) ? gpu.hostLink : undefined;
  return {
    name: device.name,
    kind,
    cpu,
    gpu: gpuSeconds,
    crossed: crossedLayers(device, {
      ...{ model, runtime, tokens: { generated: workload.batch, prompt: 0 } },
      layerOf: (other, processor) => layerSeconds(other, workload, processor),
    }),
    cpuLayer: totalLayerSeconds(cpu),
    gpuLayer: gpuSeconds === undefined ? Number.POSITIVE_INFINITY : totalLayerSeconds(gpuSeconds),
    windowCopy: hostLink === undefined ? 0 : 2 * transferSeconds(hostLink, message),
    layerCopy: hostLink === undefined ? Number.POSITIVE_INFINITY : transferSeconds(hostLink, model.layer.bytes),
    outputCopy: hostLink === undefined ? Number.POSITIVE_INFINITY : transferSeconds(hostLink, model.output.bytes),
    oneQueue: gpu?.api === 'webgpu',
    outputOnCpu,
    outputOnGpu,
    outputOnCpuTotal: totalLayerSeconds(outputOnCpu),
    outputOnGpuTotal: outputOnGpu === undefined ? Number.POSITIVE_INFINITY : totalLayerSeconds(outputOnGpu),
    unified,
    available: kind === 'macos-metal' && gpu ? gpu.memory.available : device.memory.available + swapOut,
    installed: device.memory.total,
    ramBuffers: runtime.cpuBufferBytes + (unified ? runtime.gpuBufferBytes : 0),
    gpuRoom: gpu === undefined ? 0 : Math.max(0, gpu.memory.available - runtime.gpuBufferBytes),
    reloadRate: reloadRate(device),
  };
}

/** A chip whose operators are cut between GPU and NPU; undefined for other devices. */
function chipCosts(
  device: Device,
  {
    model,
    workload,
    runtime,
    ...phase
  }: Pick<ChipPhase, 'model' | 'phase' | 'decoded'> & {
    readonly workload: Workload;
    readonly runtime: Runtime;
  },
): ChipSeconds | undefined {
  const partition = runtime.partitions?.get(device.name);
  return partition && chipSeconds({ device: chipDevice(device), model, partition, ...phase }, workload);
}

/** A pass whose costs are asked for: decoding one token of every text unless it says otherwise. */
export interface CostedPass {
  readonly runtime?: Runtime | undefined;
  /** `prefill`: a whole prompt. */
  readonly phase?: 'decode' | 'prefill' | undefined;
  /** γ + 1: tokens of each text that decode together. */
  readonly verifiedTokens?: number | undefined;
  /** Tokens of several texts, in place of those. */
  readonly load?: PassLoad | undefined;
}

/** The coefficients of a pass of any kind. @throws InputError as those of its kind do */
export function costsOfPass(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  { runtime = DEFAULT_RUNTIME, phase = 'decode', verifiedTokens = 1, load }: CostedPass,
): RingCosts {
  if (phase === 'prefill') return createPrefillCosts(cluster, model, workload, runtime);
  if (load !== undefined) return createPassCosts(cluster, model, workload, { runtime, load });
  if (verifiedTokens === 1) return createRingCosts(cluster, model, workload, runtime);
  return createVerificationCosts(cluster, model, workload, { runtime, tokens: verifiedTokens });
}

/** Seconds of a message between two devices, over the relays between them. @param indices places of devices by name */
export function hopSeconds(
  costs: RingCosts,
  { relays, indices }: { readonly relays: readonly Relay[]; readonly indices: ReadonlyMap<string, number> },
  from: string,
  to: string,
): number {
  let seconds = 0;
  let at = indices.get(from) as number;
  for (const stop of stopsBetween(relays, from, to)) {
    const next = indices.get(stop) as number;
    seconds += costs.hop(at, next);
    at = next;
  }
  return seconds;
}
