import { type LayerSeconds, prefillLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { type Device, type Gpu, type ProcessorKind, transferSeconds } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import { stopsBetween } from '../../engine/plan/relays.ts';
import type { Steps } from '../event-loop/effect.ts';
import { hold, holdUntil } from '../event-loop/hold.ts';
import type { SimulationOptions } from '../simulate.ts';
import { type Chip, type ChipSteps, chipSteps } from './chip.ts';
import { askFor, type Computing, computingSeconds, finish } from './compute.ts';
import { streamStage } from './layer-streaming.ts';
import { pagedStage } from './paged-stage.ts';
import { runChipOutput, runChipStage } from './ring-chip.ts';
import type { RingDevice } from './ring-device.ts';
import { type Sending, send } from './send.ts';
import { itinerary, nextVisits, type Visit } from './windows.ts';

export interface RingParts extends Computing, Sending {
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly devices: ReadonlyMap<string, RingDevice>;
  /** Those of them that cut operators between GPU and NPU. */
  readonly chips: ReadonlyMap<string, Chip>;
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** The KV caches grow to so many tokens. */
  readonly grow: (context: number) => void;
  readonly isEnough: SimulationOptions['isEnough'] | undefined;
  readonly joinsLayers: boolean;
}

/** Seconds of one pass: a decoded token, or a prompt. */
interface Pass {
  readonly phase: 'prefill' | 'decode';
  /** Tokens in the KV cache. */
  readonly context: number;
  /** Tokens of one request that travel together. */
  readonly tokens: number;
  readonly costs: RingCosts;
  readonly layer: (device: RingDevice, processor: ProcessorKind) => LayerSeconds;
  readonly chipSteps: ReadonlyMap<string, ChipSteps>;
}

/** A token's way, and for each visit those whose weights its device may fetch after it. */
interface Way {
  readonly visits: readonly Visit[];
  readonly next: readonly (readonly Visit[])[];
}

/**
 * Pipelined-ring parallelism (prima.cpp 3.1): one request's passes, each around the ring as often as the plan has
 * rounds. A pass is one process, since a token is at one place at a time; the devices' prefetching threads run beside it.
 * With one round this is pipeline parallelism, with one device llama.cpp.
 */
export function* ring(parts: RingParts): Steps {
  const { simulation, recorder, plan, workload, devices } = parts;
  const visits = itinerary(plan);
  const way = { visits, next: nextVisits(visits) };
  const head = devices.get(plan.output.device) as RingDevice;
  let pass: Pass | undefined;
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    parts.grow(context);
    if (pass?.phase !== phase || pass.context !== context) pass = createPass(parts, phase, context);
    const start = simulation.now;
    for (const { paged } of devices.values()) if (paged !== undefined) yield* paged.grow(context);
    yield* onePass(parts, pass, way, head);
    recorder.token({ phase, start, end: simulation.now });
    if (phase === 'decode' && parts.isEnough?.(recorder.tokens)) return;
  }
}

function* onePass(parts: RingParts, pass: Pass, { visits, next }: Way, head: RingDevice): Steps {
  const { devices } = parts;
  yield* lookUp(head);
  let at = head;
  for (const [index, visit] of visits.entries()) {
    const device = devices.get(visit.device) as RingDevice;
    yield* handOn(parts, pass, at, device);
    at = device;
    for (const stage of visit.stages) yield* runStage(parts, pass, device, stage);
    if (visit.stages.length > 0) yield* copy(parts, pass, device);
    if (visit.output) yield* runOutput(parts, pass, device);
    if (visit.output || visit.stages.length > 0) {
      device.leave(visit, next[index] ?? []);
      device.observe?.('released');
    }
  }
}

/** The row of the embedding comes from the disk for every token: too cold to stay (prima.cpp Eqs. 15–17). */
function* lookUp({ reader, cache, weights }: RingDevice): Steps {
  const row = weights.lookup;
  if (row === undefined) return;
  yield* reader.need(row);
  cache.release(row);
}

/** The hidden states go to another device, over the relays between. */
function* handOn(parts: RingParts, pass: Pass, from: RingDevice, to: RingDevice): Steps {
  if (from === to) return;
  const bytes = activationBytes(parts, pass);
  if ((parts.plan.relays ?? []).length === 0) {
    yield* send(parts, from.index, to.index, bytes);
    return;
  }
  const ring = parts.cluster.devices.map(({ name }) => name);
  let at = from.index;
  for (const stop of stopsBetween(ring, parts.plan, from.name, to.name)) {
    const next = ring.indexOf(stop);
    yield* send(parts, at, next, bytes);
    at = next;
  }
}

/** Layer by layer: its weights arrive, then it is computed. */
function* runStage(parts: RingParts, pass: Pass, device: RingDevice, stage: Stage): Steps {
  const { processor, from, to, streamed } = stage;
  if (stage.partition !== undefined) {
    const { layer } = pass.chipSteps.get(device.name) as ChipSteps;
    yield* runChipStage(parts.chips.get(device.name) as Chip, device, stage, layer);
    return;
  }
  const seconds = pass.layer(device, processor);
  if (streamed !== undefined) {
    const { layerCopy } = pass.costs.devices[device.index] as DeviceCosts;
    const sizes = { layerBytes: parts.model.layer.bytes, copySeconds: layerCopy };
    const run = (layer: number): Steps => runLayer(parts, device, processor, seconds, layer);
    yield* streamStage({ ...parts, ...sizes, device: device.name, streamed, from, to, compute: run });
    return;
  }
  if (processor === 'gpu' && device.paged !== undefined && device.paged.evicted > 0 && pass.phase === 'decode') {
    const gpu = parts.cluster.devices[device.index]?.gpu as Gpu;
    yield* pagedStage({ ...parts, device: device.name, paged: device.paged, gpu, seconds, from, to });
    return;
  }
  if (!parts.recorder.wantsSpans && device.observe === undefined) yield* runUnseen(parts, device, stage, seconds);
  else for (let layer = from; layer < to; layer++) yield* runLayer(parts, device, processor, seconds, layer);
}

/**
 * A stage of which nobody wants to see the layers: the same times with fewer steps. Where no layer has to wait for its
 * weights, the clock goes to the end of the last one at once.
 */
function* runUnseen(parts: RingParts, device: RingDevice, stage: Stage, seconds: LayerSeconds): Steps {
  const { name, reader, weights } = device;
  const { from, to, processor } = stage;
  const window = weights.stage(stage);
  if (window !== undefined && parts.joinsLayers && reader.takesLayers) {
    let sum = 0;
    for (let layer = from; layer < to; layer++) sum += computingSeconds(parts, name, processor, seconds);
    yield* rest(parts, yield* reader.need(window, sum, to - from));
    return;
  }
  let end = parts.simulation.now;
  for (let layer = from; layer < to; layer++) {
    const total = computingSeconds(parts, name, processor, seconds);
    const range = weights.layer(layer);
    if (range === undefined) end += total;
    else yield* rest(parts, yield* reader.need(range, total));
  }
  if (end > parts.simulation.now) yield holdUntil(end);
}

/** What is left to compute. Where nobody else has a turn at this instant, a hold of 0 s is none. */
function* rest({ simulation }: RingParts, seconds: number): Steps {
  if (seconds > 0 || !simulation.isQuiet) yield hold(seconds);
}

function* runLayer(
  parts: RingParts,
  device: RingDevice,
  processor: ProcessorKind,
  seconds: LayerSeconds,
  layer: number,
): Steps {
  const computation = askFor(parts, device.name, processor, seconds, `layer ${layer}`);
  const range = device.weights.layer(layer);
  const left = range === undefined ? computation.total : yield* device.reader.need(range, computation.total);
  device.observe?.('layer', layer);
  yield* finish(parts, computation, left);
  device.observe?.('computed', layer);
}

function* runOutput(parts: RingParts, pass: Pass, head: RingDevice): Steps {
  const { processor, partition } = parts.plan.output;
  if (partition !== undefined) {
    const { output } = pass.chipSteps.get(head.name) as ChipSteps;
    yield* runChipOutput(parts.chips.get(head.name) as Chip, head, output);
    return;
  }
  const costs = pass.costs.devices[head.index] as DeviceCosts;
  const seconds = processor === 'gpu' ? costs.outputOnGpu : costs.outputOnCpu;
  if (seconds === undefined) return;
  const computation = askFor(parts, head.name, processor, seconds, 'output layer');
  const { output } = head.weights;
  const left = output === undefined ? computation.total : yield* head.reader.need(output, computation.total);
  yield* finish(parts, computation, left);
}

/** Activations on their way to a GPU with memory of its own, and back. */
function* copy(parts: RingParts, pass: Pass, device: RingDevice): Steps {
  const { cluster, recorder, simulation } = parts;
  const gpu = cluster.devices[device.index]?.gpu;
  if (gpu?.api !== 'cuda') return;
  const bytes = activationBytes(parts, pass);
  const start = simulation.now;
  yield hold(2 * transferSeconds(gpu.hostLink, bytes));
  if (!recorder.wantsSpans) return;
  const span = { device: device.name, lane: 'gpu', cause: 'deviceCopy', name: 'to and from the GPU' } as const;
  recorder.span({ ...span, start, end: simulation.now, args: { bytes: 2 * bytes } });
}

/** Bytes of the hidden states that travel together. */
function activationBytes(
  { runtime, model, workload }: Pick<RingParts, 'runtime' | 'model' | 'workload'>,
  { tokens }: Pass,
): number {
  return runtime.activationBytes * model.hiddenSize * tokens * workload.batch;
}

function createPass(parts: RingParts, phase: Pass['phase'], context: number): Pass {
  const { cluster, model, workload, runtime, chips } = parts;
  const steps = new Map([...chips].map(([name, chip]) => [name, chipSteps(chip.parts, phase, context)]));
  const costs = createRingCosts(cluster, model, { ...workload, context }, runtime);
  if (phase === 'decode') {
    const layer = (device: RingDevice, processor: ProcessorKind): LayerSeconds => {
      const { cpu, gpu } = costs.devices[device.index] as DeviceCosts;
      return processor === 'gpu' && gpu !== undefined ? gpu : cpu;
    };
    return { phase, context, tokens: 1, costs, layer, chipSteps: steps };
  }
  const layer = (device: RingDevice, processor: ProcessorKind): LayerSeconds => {
    const { cpu, gpu } = cluster.devices[device.index] as Device;
    return prefillLayerSeconds(model, workload, processor === 'gpu' && gpu !== undefined ? gpu : cpu);
  };
  return { phase, context, tokens: workload.promptTokens, costs, layer, chipSteps: steps };
}
