import { type LayerSeconds, prefillLayerSeconds } from '../../engine/cost/layer-seconds.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { type Device, type ProcessorKind, transferSeconds } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan, Stage } from '../../engine/plan/plan.ts';
import type { Steps } from '../kernel/effect.ts';
import { hold } from '../kernel/hold.ts';
import type { Simulation } from '../kernel/simulation.ts';
import type { Recorder } from '../recorder.ts';
import { itinerary, type Visit } from './itinerary.ts';
import type { RingDevice } from './ring-device.ts';

export interface RingParts {
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly cluster: Cluster;
  readonly model: Model;
  readonly plan: Plan;
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly devices: ReadonlyMap<string, RingDevice>;
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** Memory for mapped weights beside so much KV cache, bytes. */
  readonly limitOf: (device: RingDevice, context: number) => number;
}

/** Seconds of one pass: a decoded token, or a prompt. */
interface Pass {
  readonly phase: 'prefill' | 'decode';
  /** Tokens of one request that travel together. */
  readonly tokens: number;
  readonly costs: RingCosts;
  readonly layer: (device: RingDevice, processor: ProcessorKind) => LayerSeconds;
}

/**
 * Pipelined-ring parallelism (prima.cpp 3.1): one request's passes, each around the ring as often as the plan has
 * rounds. A pass is one process, since a token is at one place at a time; the devices' prefetching threads run beside it.
 * With one round this is pipeline parallelism, with one device llama.cpp.
 */
export function* ring(parts: RingParts): Steps {
  const { simulation, recorder, plan, workload, devices } = parts;
  const visits = itinerary(plan);
  const head = devices.get(plan.output.device) as RingDevice;
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    for (const device of devices.values()) device.cache.setLimit(parts.limitOf(device, context));
    const pass = createPass(parts, phase, context);
    const start = simulation.now;
    yield* onePass(parts, pass, visits, head);
    recorder.token({ phase, start, end: simulation.now });
  }
}

function* onePass(parts: RingParts, pass: Pass, visits: readonly Visit[], head: RingDevice): Steps {
  const { devices } = parts;
  yield* lookUp(head);
  let at = head;
  for (const [index, visit] of visits.entries()) {
    const device = devices.get(visit.device) as RingDevice;
    yield* send(parts, pass, at, device);
    at = device;
    if (visit.stages.length === 0) continue;
    for (const stage of visit.stages) yield* runStage(parts, pass, device, stage);
    yield* move(parts, {
      device,
      cause: 'deviceCopy',
      name: 'to and from the GPU',
      seconds: copySeconds(parts, pass, device),
    });
    device.leave(visit, nextVisit(visits, index));
  }
  yield* send(parts, pass, at, head);
  yield* runOutput(parts, pass, head);
}

/** The device's next visit: in this pass, or the first of the next one. */
function nextVisit(visits: readonly Visit[], index: number): Visit {
  const { device } = visits[index] as Visit;
  const mine = (visit: Visit): boolean => visit.device === device && visit.stages.length > 0;
  return visits.slice(index + 1).find(mine) ?? (visits.find(mine) as Visit);
}

/** The row of the embedding comes from the disk for every token: too cold to stay (prima.cpp Eqs. 15–17). */
function* lookUp({ reader, cache, weights }: RingDevice): Steps {
  const row = weights.lookup;
  if (row === undefined) return;
  yield* reader.need(row);
  cache.release(row);
}

function* send(parts: RingParts, pass: Pass, from: RingDevice, to: RingDevice): Steps {
  if (from === to) return;
  const bytes = parts.runtime.activationBytes * parts.model.hiddenSize * pass.tokens * parts.workload.batch;
  const seconds = transferSeconds(parts.cluster.link(from.index, to.index), bytes);
  yield* move(parts, { device: from, cause: 'link', name: `to ${to.name}`, seconds });
}

/** Layer by layer: its weights arrive, then it is computed. */
function* runStage(parts: RingParts, pass: Pass, device: RingDevice, stage: Stage): Steps {
  const seconds = pass.layer(device, stage.processor);
  for (let layer = stage.from; layer < stage.to; layer++) {
    const range = device.weights.layer(layer);
    if (range !== undefined) yield* device.reader.need(range);
    yield* compute(parts, device, stage.processor, seconds, `layer ${layer}`);
  }
}

function* runOutput(parts: RingParts, pass: Pass, head: RingDevice): Steps {
  const { processor } = parts.plan.output;
  if (head.weights.output !== undefined) yield* head.reader.need(head.weights.output);
  const costs = pass.costs.devices[head.index] as DeviceCosts;
  const seconds = processor === 'gpu' ? costs.outputOnGpu : costs.outputOnCpu;
  if (seconds !== undefined) yield* compute(parts, head, processor, seconds, 'output layer');
}

function* compute(
  parts: RingParts,
  device: RingDevice,
  lane: ProcessorKind,
  seconds: LayerSeconds,
  name: string,
): Steps {
  const { recorder, simulation } = parts;
  let start = simulation.now;
  yield hold(seconds.compute + seconds.kvCopy + seconds.memory);
  for (const cause of ['memory', 'compute', 'kvCopy'] as const) {
    const end = start + seconds[cause];
    recorder.span({ device: device.name, lane, cause, name, start, end, args: {} });
    start = end;
  }
}

/** Activations on their way: to the next device, or between a device's memories. */
interface Move {
  readonly device: RingDevice;
  readonly cause: 'link' | 'deviceCopy';
  readonly name: string;
  readonly seconds: number;
}

function* move({ recorder, simulation }: RingParts, { device, cause, name, seconds }: Move): Steps {
  if (seconds === 0) return;
  const start = simulation.now;
  yield hold(seconds);
  const lane = cause === 'link' ? 'link' : 'gpu';
  recorder.span({ device: device.name, lane, cause, name, start, end: simulation.now, args: {} });
}

function copySeconds({ cluster, model, runtime, workload }: RingParts, pass: Pass, device: RingDevice): number {
  const gpu = cluster.devices[device.index]?.gpu;
  if (gpu?.api !== 'cuda') return 0;
  const bytes = runtime.activationBytes * model.hiddenSize * pass.tokens * workload.batch;
  return 2 * transferSeconds(gpu.hostLink, bytes);
}

function createPass({ cluster, model, workload, runtime }: RingParts, phase: Pass['phase'], context: number): Pass {
  const costs = createRingCosts(cluster, model, { ...workload, context }, runtime);
  if (phase === 'decode') {
    const layer = (device: RingDevice, processor: ProcessorKind): LayerSeconds => {
      const { cpu, gpu } = costs.devices[device.index] as DeviceCosts;
      return processor === 'gpu' && gpu !== undefined ? gpu : cpu;
    };
    return { phase, tokens: 1, costs, layer };
  }
  const layer = (device: RingDevice, processor: ProcessorKind): LayerSeconds => {
    const { cpu, gpu } = cluster.devices[device.index] as Device;
    return prefillLayerSeconds(model, workload, processor === 'gpu' && gpu !== undefined ? gpu : cpu);
  };
  return { phase, tokens: workload.promptTokens, costs, layer };
}
