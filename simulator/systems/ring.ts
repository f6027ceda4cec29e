import type { Infeasibility } from '../../engine/cost/breakdown.ts';
import { fitWeights } from '../../engine/cost/memory.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from '../../engine/cost/ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../../engine/cost/runtime.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { chipPartitions, type FittedPlan, type RingPlan, type SplitPlan, type Stage } from '../../engine/plan/plan.ts';
import { relaysOf, stagesByDevice, stopsBetween } from '../../engine/plan/windows.ts';
import { createRecorder, type Recorder } from '../../engine/trace/recorder.ts';
import type { Lane, TracedDevice } from '../../engine/trace/trace.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createSimulation, type Simulation } from '../event-loop/simulation.ts';
import { createNetwork, send } from '../hardware/network.ts';
import { pageFaults } from '../hardware/page-faults.ts';
import { gpuKvPages } from '../hardware/paged-kv.ts';
import { createNoise } from '../hardware/processor.ts';
import { type WeightsMemoryParts, weightsMemory } from '../hardware/weights-memory.ts';
import { DEFAULT_SEED, type SimulatedSpeculation, type SimulationOptions, type SimulationParts } from '../options.ts';
import { DEFAULT_EXTENT_BYTES } from '../page-cache/page-cache.ts';
import type { SavedPages } from '../page-cache/saved-pages.ts';
import type { SimulationResult } from '../result.ts';
import { createRingChips } from './chip-steps.ts';
import { runsOf } from './drafted-runs.ts';
import { createMemoryGuard, untilExhausted } from './memory-guard.ts';
import { createRingDevice, prefetchWindows, type RingDevice } from './ring-device.ts';
import {
  activationBytes,
  copyActivations,
  createPass,
  type Pass,
  type RingParts,
  runOutput,
  runStage,
  type StopParts,
} from './ring-pass.ts';
import { nextStops, type Stop, tokenPath } from './token-path.ts';

/** Assumed: what a prefetching thread keeps in flight; Linux takes 4 MiB a call, several at a time. */
const LEAST_CHUNK_BYTES = 16 * 2 ** 20;
/** Large layers are read in larger chunks to save events; a wait ends later by a chunk at most. */
const CHUNKS_PER_LAYER = 8;

/**
 * Replays a valid plan whose layers each lie on one device as a whole: rings, single devices, CPU and GPU, layers
 * streamed to a GPU.
 * @param contextOf tokens in the KV cache while token `index` is decoded
 */
export function simulateRing(parts: RingSimulation, contextOf: (index: number) => number): SimulationResult {
  const opened = openRing(parts, contextOf(0), contextOf(parts.workload.outputTokens));
  if (opened.outOfMemory !== undefined) return { ...opened, devices: [], seconds: 0 };
  const { isEnough, warm = false, speculation, seed = DEFAULT_SEED } = parts;
  return opened.run('request', runRequest(opened, { contextOf, isEnough, warm, speculation, seed }));
}

export type RingSimulation = SimulationParts & { readonly plan: RingPlan | SplitPlan };

/** A ring whose devices are there, for whatever runs on it. */
export interface OpenRing extends RingParts {
  readonly outOfMemory?: undefined;
  readonly path: Path;
  readonly head: RingDevice;
  /** The KV caches grow to this many tokens. */
  readonly grow: (context: number) => void;
  /** Runs the simulation until these steps have ended, or a device has run out of memory. */
  run(name: string, steps: Steps): SimulationResult;
}

/**
 * Opens the devices of a valid plan, with KV caches of `firstContext` tokens, which may grow to `longestContext`; or says
 * what doesn't fit.
 */
export function openRing(
  parts: RingSimulation,
  firstContext: number,
  longestContext: number,
): OpenRing | (Pick<SimulationResult, 'outOfMemory' | 'trace'> & { readonly outOfMemory: readonly Infeasibility[] }) {
  const { cluster, model, workload, seed = DEFAULT_SEED, paging } = parts;
  const runtime = { ...(parts.runtime ?? DEFAULT_RUNTIME), partitions: chipPartitions(parts.plan) };
  const longest = { ...workload, context: longestContext };
  const plan = fitWeights(parts.plan, createRingCosts(cluster, model, longest, runtime));
  const prediction = createRingPredictor(cluster, model, longest, { runtime, ...(paging && { paging }) })(plan);
  const nonReclaimable = new Map(
    prediction.devices.map(({ device, nonReclaimableBytes }) => [device, nonReclaimableBytes]),
  );
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: parts.record !== 'tokens' });
  const { spans, tokens, counters } = recorder;
  const trace = { devices: tracedDevices(parts), spans, tokens, counters };
  if (prediction.infeasible.length > 0) return { outOfMemory: prediction.infeasible, trace };
  const costs = createRingCosts(cluster, model, workload, runtime);
  const context = firstContext;
  const devices = createDevices({ parts, plan, simulation, recorder, runtime, costs, nonReclaimable, context });
  const noise = createNoise(seed, parts.noise ?? 0);
  const guard = createMemoryGuard(simulation, devices, parts.memoryTaken ?? {});
  const byName = new Map(devices.map((device) => [device.name, device]));
  const stops = tokenPath(plan);
  return {
    simulation,
    recorder,
    network: createNetwork(simulation, cluster, seed),
    noise,
    cluster,
    model,
    plan,
    workload,
    runtime,
    devices: byName,
    chips: createRingChips({ simulation, recorder, noise, cluster, model, plan, workload }),
    joinsLayers: parts.joinsLayers ?? false,
    path: { stops, next: nextStops(stops) },
    head: byName.get(plan.output.device) as RingDevice,
    grow: guard.grow,
    run(name, steps) {
      const process = simulation.spawn(name, steps);
      simulation.run(simulation.spawn('run', untilExhausted(process, guard)));
      return {
        outOfMemory: guard.shortages,
        trace,
        devices: devices.map((device) => ({
          device: device.name,
          ...device.reader.totals,
          cache: device.cache.usage(),
          counters: device.cache.counters(),
          diskSeconds: device.disk.busySeconds(),
          nonReclaimableBytes: nonReclaimable.get(device.name) ?? 0,
          memoryTotal: cluster.devices[device.index]?.memory.total ?? 0,
        })),
        seconds: simulation.now,
      };
    },
  };
}

/** Parts that devices of a run have in common. */
export interface DevicesCase {
  readonly parts: Omit<SimulationParts, 'plan'>;
  readonly plan: FittedPlan;
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly runtime: Runtime;
  readonly costs: RingCosts;
  /** By device: KV cache, buffers and pinned weights at the end. */
  readonly nonReclaimable: ReadonlyMap<string, number>;
  /** Tokens in the KV cache at the beginning. */
  readonly context: number;
}

/** The devices that hold layers, and the head. */
function createDevices(run: DevicesCase): RingDevice[] {
  const { parts, plan } = run;
  const stages = stagesByDevice(plan);
  return parts.cluster.devices.flatMap(({ name }, index) => {
    const own = stages.get(name) ?? [];
    return own.length === 0 && name !== plan.output.device ? [] : [createDevice(run, index, own)];
  });
}

/**
 * A device of a run, and its prefetching thread.
 * @param index in the cluster
 * @param saved what its page cache holds at the beginning; nothing unless given
 */
export function createDevice(
  run: DevicesCase,
  index: number,
  stages: readonly Stage[],
  saved?: SavedPages,
): RingDevice {
  const { parts, plan, simulation, recorder, runtime, costs, nonReclaimable, context } = run;
  const { cluster, model, workload, reclaim = 'os', paging } = parts;
  const device = cluster.devices[index] as Device;
  const deviceCosts = costs.devices[index] as DeviceCosts;
  const paged = paging && gpuKvPages({ paging, device, model, plan, stages, workload, runtime });
  const memory: WeightsMemoryParts = {
    device,
    costs,
    deviceCosts,
    model,
    plan,
    stages,
    workload,
    reclaim,
    paged,
    nonReclaimableBytes: nonReclaimable.get(device.name) ?? 0,
  };
  const created = createRingDevice({
    simulation,
    recorder,
    observe: parts.observe,
    device,
    index,
    costs,
    plan,
    stages,
    memory: weightsMemory(memory),
    paged,
    context,
    ownFile: parts.files === 'own',
    pins: parts.pins ?? 'locked',
    throttle: parts.throttle,
    extentBytes: parts.extentBytes ?? DEFAULT_EXTENT_BYTES,
    chunkBytes: parts.chunkBytes ?? Math.max(LEAST_CHUNK_BYTES, model.layer.bytes / CHUNKS_PER_LAYER),
    saved,
  });
  const { prefetcher } = created;
  if (prefetcher !== undefined) simulation.spawn(`prefetching on ${device.name}`, prefetchWindows(created, prefetcher));
  return created;
}

function tracedDevices({ cluster, plan }: SimulationParts): TracedDevice[] {
  const holders = new Set([plan.output.device, ...plan.stages.map(({ device }) => device)]);
  const relays = new Set(relaysOf(plan).flatMap(({ via }) => via));
  const chips = chipPartitions(plan);
  return cluster.devices.flatMap(({ name, gpu }): TracedDevice[] => {
    if (!holders.has(name)) return relays.has(name) ? [{ name, lanes: ['link'] }] : [];
    const processors: Lane[] = ['cpu', ...(gpu === undefined ? [] : ['gpu' as const])];
    if (chips.has(name)) processors.push('npu');
    return [{ name, lanes: [...processors, 'disk', 'link'] }];
  });
}

/** A token's path, and for each stop those whose weights its device may prefetch after it. */
interface Path {
  readonly stops: readonly Stop[];
  readonly next: readonly (readonly Stop[])[];
}

interface RequestCase {
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  readonly isEnough: SimulationOptions['isEnough'] | undefined;
  readonly warm: boolean;
  readonly speculation: SimulationOptions['speculation'] | undefined;
  /** Seed of what is accepted of drafts. */
  readonly seed: number;
}

/**
 * Pipelined-ring parallelism (prima.cpp 3.1): one request's passes, each around the ring as often as the plan has
 * rounds. With speculation a pass verifies the drafted tokens, and its time is divided among those that it gives. A token is at one place at a time, so one process suffices; the devices' prefetching threads run in parallel with it.
 * With one round this is pipeline parallelism, with one device llama.cpp.
 */
function* runRequest(ring: OpenRing, { contextOf, isEnough, warm, ...drafting }: RequestCase): Steps {
  const { simulation, recorder, workload, devices, head } = ring;
  if (warm) yield* runPass(ring, createPass(ring, 'decode', contextOf(0)));
  const speculation: SimulatedSpeculation = drafting.speculation ?? NO_SPECULATION;
  const { sureRate = 1, acceptanceRate, draftSeconds } = speculation;
  const sure = runsOf(sureRate, drafting.seed, 'sure drafts');
  const accepted = runsOf(acceptanceRate, drafting.seed, 'accepted drafts');
  let pass: Pass | undefined;
  for (let index = 0; index <= workload.outputTokens; ) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = contextOf(index);
    // A pass gives a token more than were drafted.
    const asked = phase === 'prefill' ? 0 : Math.min(speculation.draftTokens, workload.outputTokens - index);
    const drafted = sure(asked);
    const longest = contextOf(index + drafted);
    ring.grow(longest);
    if (pass?.phase !== phase || pass.context !== context || pass.tokens !== drafted + 1)
      pass = createPass(ring, phase, context, drafted + 1);
    const start = simulation.now;
    for (const { paged } of devices.values()) if (paged !== undefined) yield* paged.grow(longest);
    // Drafting the first uncertain token also takes time, although it is dropped.
    yield* draft(ring, head, Math.min(asked, drafted + 1) * draftSeconds);
    yield* runPass(ring, pass);
    const tokens = accepted(drafted) + 1;
    const share = (simulation.now - start) / tokens;
    for (let token = 0; token < tokens; token++)
      recorder.token({ phase, start: start + token * share, end: start + (token + 1) * share });
    if (phase === 'decode' && isEnough?.(recorder.tokens)) return;
    index += tokens;
  }
}

const NO_SPECULATION = { acceptanceRate: 0, draftTokens: 0, draftSeconds: 0 } as const;

function* draft({ simulation, recorder }: RingParts, { name: device }: RingDevice, seconds: number): Steps {
  if (seconds === 0) return;
  const start = simulation.now;
  yield hold(seconds);
  recorder.span({ device, lane: 'cpu', cause: 'compute', name: 'draft', start, end: simulation.now, args: {} });
}

/** One pass around the ring, from the embedding to the output layer. */
export function* runPass(ring: OpenRing, pass: Pass): Steps {
  const {
    devices,
    head,
    path: { stops, next },
  } = ring;
  const rows = pass.phase === 'decode' ? pass.tokens : 1;
  for (let row = 0; row < rows; row++) yield* lookUp(head);
  let at = head;
  for (const [index, stop] of stops.entries()) {
    const device = devices.get(stop.device) as RingDevice;
    yield* sendActivations(ring, pass, at, device);
    at = device;
    yield* runStop(ring, pass, device, stop);
    leaveStop(device, stop, next[index] ?? []);
  }
}

/** Steps of a device at a stop once the activations are there. */
export function* runStop(parts: StopParts, pass: Pass, device: RingDevice, { stages, output }: Stop): Steps {
  for (const stage of stages) yield* runStage(parts, pass, device, stage);
  if (stages.length > 0) yield* copyActivations(parts, pass, device);
  if (output) yield* runOutput(parts, pass, device);
}

/** The token leaves: the device releases and prefetches weights. */
export function leaveStop(device: RingDevice, stop: Stop, next: readonly Stop[]): void {
  if (!stop.output && stop.stages.length === 0) return;
  device.leave(stop, next);
  device.observe?.('released');
}

/**
 * The row of the embedding is read from the disk for every token: it is too cold to stay (prima.cpp Eqs. 15–17). Where
 * it shares an extent with other weights, it stays with them.
 */
export function* lookUp({ reader, cache, weights }: RingDevice): Steps {
  const row = weights.lookup;
  if (row === undefined) return;
  yield* pageFaults(reader, { range: row });
  cache.release(row);
}

/** Sends the hidden states to another device, through the relays between them. */
export function* sendActivations(parts: RingParts, pass: Pass, from: RingDevice, to: RingDevice): Steps {
  if (from === to) return;
  const bytes = activationBytes(parts, pass);
  if (relaysOf(parts.plan).length === 0) {
    yield* send(parts, from.index, to.index, bytes);
    return;
  }
  const ring = parts.cluster.devices.map(({ name }) => name);
  let at = from.index;
  for (const stop of stopsBetween(relaysOf(parts.plan), from.name, to.name)) {
    const next = ring.indexOf(stop);
    yield* send(parts, at, next, bytes);
    at = next;
  }
}
