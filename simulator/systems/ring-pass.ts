import type { CrossedLayers } from '../../engine/cost/crossed-experts.ts';
import { type LayerSeconds, prefillLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import type { Streaming } from '../../engine/cost/layer-streaming.ts';
import { type PassLoad, passTokens } from '../../engine/cost/mixed-pass.ts';
import {
  createPassCosts,
  createPrefillCosts,
  createRingCosts,
  createVerificationCosts,
  type DeviceCosts,
  type RingCosts,
} from '../../engine/cost/ring-costs.ts';
import { HOOK_SECONDS, type Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import {
  type Device,
  type Gpu,
  isDiscrete,
  type ProcessorKind,
  transferSeconds,
} from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import type { Recorder } from '../../engine/trace/recorder.ts';
import { hold, holdUntil, type Steps } from '../event-loop/effect.ts';
import type { Simulation } from '../event-loop/simulation.ts';
import type { Sending } from '../hardware/network.ts';
import { mayJoinLayers, pageFaults } from '../hardware/page-faults.ts';
import type { PagedKv } from '../hardware/paged-kv.ts';
import { type Computing, computingSeconds, finishComputation, startComputation } from '../hardware/processor.ts';
import type { ByteRange } from '../page-cache/extents.ts';
import { type Chip, runChipOutput, runChipStage, type TimedSteps, timedSteps } from './chip-steps.ts';
import type { RingDevice } from './ring-device.ts';

/** Computations of a ring's devices, and how they are done. */
export interface StopParts extends Computing {
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
  readonly runtime: Runtime;
  /** The devices that cut operators between GPU and NPU. */
  readonly chips: ReadonlyMap<string, Chip>;
  readonly joinsLayers: boolean;
}

/** A ring in a run. */
export interface RingParts extends StopParts, Sending {
  readonly devices: ReadonlyMap<string, RingDevice>;
}

/** Seconds of one pass around the ring: of a decoded token, or of a prompt. */
export interface Pass {
  readonly phase: 'prefill' | 'decode';
  /** Tokens in the KV cache. */
  readonly context: number;
  /** Tokens of one request that travel together. */
  readonly tokens: number;
  readonly costs: RingCosts;
  readonly layer: (device: RingDevice, processor: ProcessorKind) => LayerSeconds;
  /** Layers on a device's GPU whose experts are on its CPU. */
  readonly crossed: (device: RingDevice) => CrossedLayers | undefined;
  readonly timedSteps: ReadonlyMap<string, TimedSteps>;
}

type PassParts = Pick<StopParts, 'cluster' | 'model' | 'workload' | 'runtime' | 'chips'>;

/** The costs of a pass at a context. @param verified tokens that it decodes together: γ + 1 with drafts */
export function createPass(parts: PassParts, phase: Pass['phase'], context: number, verified = 1): Pass {
  const { cluster, model, workload, runtime, chips } = parts;
  const steps = new Map(
    [...chips].map(([name, chip]) => [name, timedSteps(chip.parts, phase, { context, decoded: verified })]),
  );
  const costs =
    phase === 'decode' && verified > 1
      ? createVerificationCosts(cluster, model, { ...workload, context }, { runtime, tokens: verified })
      : createRingCosts(cluster, model, { ...workload, context }, runtime);
  if (phase === 'decode') {
    return { phase, context, tokens: verified, costs, ...decodingLayers(costs), timedSteps: steps };
  }
  const layer = (device: RingDevice, processor: ProcessorKind): LayerSeconds => {
    const { cpu, gpu } = cluster.devices[device.index] as Device;
    return prefillLayerSeconds(model, workload, processor === 'gpu' && gpu !== undefined ? gpu : cpu);
  };
  // Few plans have such layers.
  let prefill: RingCosts | undefined;
  const crossed = ({ index }: RingDevice): CrossedLayers | undefined => {
    prefill ??= createPrefillCosts(cluster, model, workload, runtime);
    return prefill.devices[index]?.crossed();
  };
  return { phase, context, tokens: workload.promptTokens, costs, layer, crossed, timedSteps: steps };
}

/**
 * One pass of a server over tokens of several texts, whose KV cache has fixed room.
 * @throws InputError if a chip of the ring cuts operators
 */
export function createServedPass({ cluster, model, workload, runtime }: PassParts, load: PassLoad): Pass {
  const costs = createPassCosts(cluster, model, workload, { runtime, load });
  const parts = { costs, ...decodingLayers(costs), timedSteps: new Map() };
  return { phase: 'decode', context: workload.context, tokens: passTokens(load), ...parts };
}

function decodingLayers({ devices }: RingCosts): Pick<Pass, 'layer' | 'crossed'> {
  return {
    layer({ index }, processor) {
      const { cpu, gpu } = devices[index] as DeviceCosts;
      return processor === 'gpu' && gpu !== undefined ? gpu : cpu;
    },
    crossed: ({ index }) => devices[index]?.crossed(),
  };
}

/** Bytes of the hidden states that travel together. */
export function activationBytes(
  { runtime, model, workload }: Pick<RingParts, 'runtime' | 'model' | 'workload'>,
  { tokens }: Pass,
): number {
  return runtime.activationBytes * model.hiddenSize * tokens * workload.batch;
}

/** Runs a stage layer by layer: a layer's weights arrive, then it is computed. */
export function* runStage(parts: StopParts, pass: Pass, device: RingDevice, stage: Stage): Steps {
  const { processor, from, to, streamed } = stage;
  if (stage.partition !== undefined) {
    const { layer } = pass.timedSteps.get(device.name) as TimedSteps;
    yield* runChipStage(parts.chips.get(device.name) as Chip, device, stage, layer);
    return;
  }
  const seconds = pass.layer(device, processor);
  if (stage.cpuExperts !== undefined) {
    yield* runCrossedStage(parts, pass, device, stage);
    return;
  }
  if (streamed !== undefined) {
    const { layerCopy, oneQueue } = pass.costs.devices[device.index] as DeviceCosts;
    const sizes = { layerBytes: parts.model.layer.bytes, copySeconds: layerCopy, oneQueue };
    const run = (layer: number): Steps => runLayer(parts, device, processor, seconds, layer);
    yield* streamStage({ ...parts, ...sizes, device: device.name, streamed, from, to, compute: run });
    return;
  }
  if (processor === 'gpu' && device.paged !== undefined && device.paged.evicted > 0 && pass.phase === 'decode') {
    const gpu = parts.cluster.devices[device.index]?.gpu as Gpu;
    yield* pagedStage({ ...parts, device: device.name, paged: device.paged, gpu, seconds, from, to });
    return;
  }
  if (!parts.recorder.wantsSpans && device.observe === undefined) yield* runUnobserved(parts, device, stage, seconds);
  else for (let layer = from; layer < to; layer++) yield* runLayer(parts, device, processor, seconds, layer);
}

/**
 * A stage whose layers are neither recorded nor observed: the same times with fewer steps. If no layer has to wait for its
 * weights, the clock moves to the end of the last layer at once.
 */
function* runUnobserved(parts: StopParts, device: RingDevice, stage: Stage, seconds: LayerSeconds): Steps {
  const { name, reader, weights } = device;
  const { from, to, processor } = stage;
  const range = weights.stage(stage);
  const work = { device: name, lane: processor, seconds };
  if (range !== undefined && parts.joinsLayers && mayJoinLayers(reader)) {
    let sum = 0;
    for (let layer = from; layer < to; layer++) sum += computingSeconds(parts, work);
    yield* finish(parts, yield* pageFaults(reader, { range, seconds: sum, layers: to - from }));
    return;
  }
  let end = parts.simulation.now;
  for (let layer = from; layer < to; layer++) {
    const total = computingSeconds(parts, work);
    const own = weights.layer(layer);
    if (own === undefined) end += total;
    else yield* finish(parts, yield* pageFaults(reader, { range: own, seconds: total }));
  }
  if (end > parts.simulation.now) yield holdUntil(end);
}

/** Computes for the seconds that are left. If nothing else is due at this instant, a hold of 0 s is skipped. */
function* finish({ simulation }: StopParts, seconds: number): Steps {
  if (seconds > 0 || !simulation.isQuiet) yield hold(seconds);
}

function* runLayer(
  parts: StopParts,
  device: RingDevice,
  processor: ProcessorKind,
  seconds: LayerSeconds,
  layer: number,
): Steps {
  const computation = startComputation(parts, {
    device: device.name,
    lane: processor,
    seconds,
    name: `layer ${layer}`,
  });
  const range = device.weights.layer(layer);
  const left = yield* weightsOf(device, range, computation.total);
  device.observe?.('layer', layer);
  yield* finishComputation(parts, computation, left);
  device.observe?.('computed', layer);
}

/**
 * A stage on the GPU whose first layers have their experts on the CPU: such a layer runs up to the choice of its router,
 * hidden states and routes cross, the CPU waits for the experts' weights and multiplies them, and the sum crosses back.
 */
function* runCrossedStage(parts: StopParts, pass: Pass, device: RingDevice, stage: Stage): Steps {
  const { from, to, cpuExperts = 0 } = stage;
  const { experts } = pass.costs;
  const { unified } = pass.costs.devices[device.index] as DeviceCosts;
  const crossed = pass.crossed(device);
  if (crossed === undefined) throw new RangeError(`the plan crosses experts on "${device.name}", which has none`);
  const { always, onGpu, onCpu, toCpu, toGpu } = crossed;
  const whole = sumOfSeconds(always, onGpu);
  for (let layer = from; layer < to; layer++) {
    const hasExperts = experts.layers(layer, layer + 1) > 0;
    const crosses = hasExperts && layer < from + cpuExperts;
    // Experts of a layer in VRAM are all that is mapped of it.
    const range = crosses && !unified ? undefined : device.weights.layer(layer);
    const own = { device: device.name, lane: 'gpu', seconds: hasExperts && !crosses ? whole : always } as const;
    const computation = startComputation(parts, { ...own, name: `layer ${layer}` });
    const left = yield* weightsOf(device, range, computation.total);
    device.observe?.('layer', layer);
    yield* finishComputation(parts, computation, left);
    if (crosses) {
      yield* cross(parts, device, toCpu, `layer ${layer} to the CPU`);
      const name = `experts of layer ${layer}`;
      const chosen = startComputation(parts, { device: device.name, lane: 'cpu', seconds: onCpu, name });
      const needed = unified ? undefined : device.weights.layer(layer);
      yield* finishComputation(parts, chosen, yield* weightsOf(device, needed, chosen.total));
      yield* cross(parts, device, toGpu, `layer ${layer} to the GPU`);
    }
    device.observe?.('computed', layer);
  }
}

function sumOfSeconds(one: LayerSeconds, other: LayerSeconds): LayerSeconds {
  return {
    compute: one.compute + other.compute,
    kvCopy: one.kvCopy + other.kvCopy,
    memory: one.memory + other.memory,
    overhead: one.overhead + other.overhead,
  };
}

function* cross({ simulation, recorder }: StopParts, device: RingDevice, seconds: number, name: string): Steps {
  if (seconds === 0) return;
  const start = simulation.now;
  yield hold(seconds);
  const span = { device: device.name, lane: 'link', cause: 'deviceCopy', name } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}

/** The output layer, on the head. */
export function* runOutput(parts: StopParts, pass: Pass, head: RingDevice): Steps {
  const { processor, partition, streamed } = parts.plan.output;
  if (partition !== undefined) {
    const { output } = pass.timedSteps.get(head.name) as TimedSteps;
    yield* runChipOutput(parts.chips.get(head.name) as Chip, head, output);
    return;
  }
  const costs = pass.costs.devices[head.index] as DeviceCosts;
  const seconds = processor === 'gpu' ? costs.outputOnGpu : costs.outputOnCpu;
  if (seconds === undefined) return;
  if (streamed !== undefined) {
    const copy = { layerBytes: parts.model.output.bytes, copySeconds: costs.outputCopy, oneQueue: costs.oneQueue };
    const copied = { ...parts, ...copy, device: head.name };
    yield* copyWeights(copied, 'output layer');
    yield* runHook(copied, 'output layer');
  }
  const computation = startComputation(parts, { device: head.name, lane: processor, seconds, name: 'output layer' });
  const left = yield* weightsOf(head, head.weights.output, computation.total);
  yield* finishComputation(parts, computation, left);
}

/** Waits for mapped weights, if any. @returns the seconds of the computation that are left then */
function* weightsOf({ reader }: RingDevice, range: ByteRange | undefined, seconds: number): Steps<number> {
  return range === undefined ? seconds : yield* pageFaults(reader, { range, seconds });
}

/** Activations travel to a GPU with memory of its own, and back. */
export function* copyActivations(parts: StopParts, pass: Pass, device: RingDevice): Steps {
  const { cluster, recorder, simulation } = parts;
  const gpu = cluster.devices[device.index]?.gpu;
  if (!isDiscrete(gpu)) return;
  const bytes = activationBytes(parts, pass);
  const start = simulation.now;
  yield hold(2 * transferSeconds(gpu.hostLink, bytes));
  if (!recorder.wantsSpans) return;
  const span = { device: device.name, lane: 'gpu', cause: 'deviceCopy', name: 'to and from the GPU' } as const;
  recorder.span({ ...span, start, end: simulation.now, args: { bytes: 2 * bytes } });
}

/** Weights that are copied to a GPU. */
interface WeightsCopy {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly device: string;
  /** Whether copies and computing follow each other in one queue, without hooks (streamedSeconds). */
  readonly oneQueue: boolean;
  /** Bytes of a layer's weights, and seconds that they take over the host link. */
  readonly layerBytes: number;
  readonly copySeconds: number;
}

export interface StreamedStage extends WeightsCopy {
  readonly streamed: Streaming;
  readonly from: number;
  readonly to: number;
  /** The GPU's work on a layer whose weights have been copied. */
  readonly compute: (layer: number) => Steps;
}

/**
 * Runs a stage whose weights are copied to the GPU layer by layer. `ahead`: there is room for two layers, so a layer is
 * copied while the one before it is computed; `in-turn`: copying, hooks and computing follow each other, as they do in one
 * queue either way.
 */
export function* streamStage(stage: StreamedStage): Steps {
  const { simulation, streamed, oneQueue, from, to, compute } = stage;
  if (streamed === 'in-turn' || oneQueue) {
    for (let layer = from; layer < to; layer++) {
      yield* copyWeights(stage, `layer ${layer}`);
      yield* runHook(stage, `layer ${layer}`);
      yield* compute(layer);
    }
    return;
  }
  const startCopy = (layer: number) =>
    simulation.spawn(`copy of layer ${layer} to ${stage.device}`, copyWeights(stage, `layer ${layer}`));
  let copy = startCopy(from);
  for (let layer = from; layer < to; layer++) {
    yield copy.join();
    if (layer + 1 < to) copy = startCopy(layer + 1);
    yield* compute(layer);
  }
}

function* copyWeights({ simulation, recorder, device, layerBytes, copySeconds }: WeightsCopy, name: string): Steps {
  const start = simulation.now;
  yield hold(copySeconds);
  const span = { device, lane: 'link', cause: 'deviceCopy', name: `${name} to the GPU` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: { bytes: layerBytes } });
}

function* runHook({ simulation, recorder, device, oneQueue }: WeightsCopy, name: string): Steps {
  if (oneQueue) return;
  const start = simulation.now;
  yield hold(HOOK_SECONDS);
  const span = { device, lane: 'gpu', cause: 'overhead', name: `hooks of ${name}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}

export interface PagedStage extends Computing {
  readonly device: string;
  readonly gpu: Gpu;
  readonly paged: PagedKv;
  /** Seconds of a layer if all its keys and values were on the GPU. */
  readonly seconds: LayerSeconds;
  readonly from: number;
  readonly to: number;
}

/**
 * GPU layers whose evicted KV pages come over the host link (HELM Algorithm 3): a layer does everything else first,
 * then attends to one slice after another as they arrive, while the next slice is being copied. The work is the same as
 * without pages, so that only waiting adds to the time.
 */
export function* pagedStage(stage: PagedStage): Steps {
  const { device, gpu, paged, seconds, from, to } = stage;
  const { evicted } = paged;
  const sliceSeconds = paged.sliceBytes / (gpu.attention?.memory ?? gpu.bandwidth);
  const before = { ...seconds, memory: seconds.memory - evicted * sliceSeconds };
  for (let layer = from; layer < to; layer++) {
    const computation = startComputation(stage, { device, lane: 'gpu', seconds: before, name: `layer ${layer}` });
    yield* finishComputation(stage, computation, computation.total);
    for (let page = 0; page < evicted; page++) {
      yield* paged.take(layer, page);
      yield* attend(stage, layer, page, computation.factor * sliceSeconds);
      yield* paged.release();
    }
  }
}

function* attend({ simulation, recorder, device }: PagedStage, layer: number, page: number, seconds: number): Steps {
  const start = simulation.now;
  yield hold(seconds);
  const span = { device, lane: 'gpu', cause: 'memory', name: `layer ${layer}, KV page ${page}` } as const;
  recorder.span({ ...span, start, end: simulation.now, args: {} });
}
