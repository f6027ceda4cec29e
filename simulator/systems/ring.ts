import { fitWeights } from '../../engine/cost/memory.ts';
import { createRingPredictor } from '../../engine/cost/ring.ts';
import { createRingCosts, type DeviceCosts } from '../../engine/cost/ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../../engine/cost/runtime.ts';
import { randomStream } from '../../engine/input/random-stream.ts';
import { chipPartitions, type FittedPlan, type RingPlan, type SplitPlan } from '../../engine/plan/plan.ts';
import { relaysOf, stagesByDevice, stopsBetween } from '../../engine/plan/windows.ts';
import { createRecorder, type Recorder } from '../../engine/trace/recorder.ts';
import type { Lane, TracedDevice } from '../../engine/trace/trace.ts';
import { hold, type Steps } from '../event-loop/effect.ts';
import { createSimulation, type Simulation } from '../event-loop/simulation.ts';
import { createNetwork, send } from '../hardware/network.ts';
import { pageFaults } from '../hardware/page-faults.ts';
import { gpuKvPages } from '../hardware/paged-kv.ts';
import { createNoise } from '../hardware/processor.ts';
import { weightsMemory } from '../hardware/weights-memory.ts';
import { DEFAULT_SEED, type SimulatedSpeculation, type SimulationParts } from '../options.ts';
import { DEFAULT_EXTENT_BYTES } from '../page-cache/page-cache.ts';
import type { SimulationResult } from '../result.ts';
import { createRingChips } from './chip-steps.ts';
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
export function simulateRing(
  parts: SimulationParts & { readonly plan: RingPlan | SplitPlan },
  contextOf: (index: number) => number,
): SimulationResult {
  const { cluster, model, workload, seed = DEFAULT_SEED, paging } = parts;
  const runtime = { ...(parts.runtime ?? DEFAULT_RUNTIME), partitions: chipPartitions(parts.plan) };
  const longest = { ...workload, context: contextOf(workload.outputTokens) };
  const plan = fitWeights(parts.plan, createRingCosts(cluster, model, longest, runtime));
  const prediction = createRingPredictor(cluster, model, longest, { runtime, ...(paging && { paging }) })(plan);
  const nonReclaimable = new Map(
    prediction.devices.map(({ device, nonReclaimableBytes }) => [device, nonReclaimableBytes]),
  );
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: parts.record !== 'tokens' });
  const { spans, tokens, counters } = recorder;
  const trace = { devices: tracedDevices(parts), spans, tokens, counters };
  if (prediction.infeasible.length > 0) {
    return { outOfMemory: prediction.infeasible, trace, devices: [], seconds: 0 };
  }
  const run = { parts, plan, simulation, recorder, runtime, nonReclaimable };
  const devices = createDevices({ ...run, context: contextOf(0) });
  for (const device of devices) {
    const { name, prefetcher } = device;
    if (prefetcher !== undefined) simulation.spawn(`prefetching on ${name}`, prefetchWindows(device, prefetcher));
  }
  const noise = createNoise(seed, parts.noise ?? 0);
  const guard = createMemoryGuard(simulation, devices, parts.memoryTaken ?? {});
  const request = simulation.spawn(
    'request',
    runRequest({
      simulation,
      recorder,
      network: createNetwork(simulation, cluster, seed),
      noise,
      cluster,
      model,
      plan,
      workload,
      runtime,
      devices: new Map(devices.map((device) => [device.name, device])),
      chips: createRingChips({ simulation, recorder, noise, cluster, model, plan, workload }),
      contextOf,
      grow: guard.grow,
      isEnough: parts.isEnough,
      joinsLayers: parts.joinsLayers ?? false,
      warm: parts.warm ?? false,
      speculation: parts.speculation,
      seed,
    }),
  );
  simulation.run(simulation.spawn('run', untilExhausted(request, guard)));
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
}

interface DevicesCase {
  readonly parts: SimulationParts;
  readonly plan: FittedPlan;
  readonly simulation: Simulation;
  readonly recorder: Recorder;
  readonly runtime: Runtime;
  /** By device: KV cache, buffers and pinned weights at the end. */
  readonly nonReclaimable: ReadonlyMap<string, number>;
  /** Tokens in the KV cache at the beginning. */
  readonly context: number;
}

/** The devices that hold layers, and the head. */
function createDevices(run: DevicesCase): RingDevice[] {
  const { parts, plan, simulation, recorder, runtime, nonReclaimable, context } = run;
  const { cluster, model, workload, reclaim = 'os', paging } = parts;
  const costs = createRingCosts(cluster, model, workload, runtime);
  const stages = stagesByDevice(plan);
  return cluster.devices.flatMap((device, index) => {
    const own = stages.get(device.name) ?? [];
    if (own.length === 0 && device.name !== plan.output.device) return [];
    const paged = paging && gpuKvPages({ paging, device, model, plan, stages: own, workload, runtime });
    const deviceCosts = costs.devices[index] as DeviceCosts;
    const sizes = { device, costs, deviceCosts, model, plan, stages: own, workload };
    const nonReclaimableBytes = nonReclaimable.get(device.name) ?? 0;
    return createRingDevice({
      simulation,
      recorder,
      observe: parts.observe,
      device,
      index,
      costs,
      plan,
      stages: own,
      memory: weightsMemory({ ...sizes, reclaim, paged, nonReclaimableBytes }),
      paged,
      context,
      ownFile: parts.files === 'own',
      throttle: parts.throttle,
      extentBytes: parts.extentBytes ?? DEFAULT_EXTENT_BYTES,
      chunkBytes: parts.chunkBytes ?? Math.max(LEAST_CHUNK_BYTES, model.layer.bytes / CHUNKS_PER_LAYER),
    });
  });
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

/**
 * Pipelined-ring parallelism (prima.cpp 3.1): one request's passes, each around the ring as often as the plan has
 * rounds. With speculation a pass verifies the drafted tokens, and its time is divided among those that it gives. A token is at one place at a time, so one process suffices; the devices' prefetching threads run beside it.
 * With one round this is pipeline parallelism, with one device llama.cpp.
 */
function* runRequest(parts: RingParts): Steps {
  const { simulation, recorder, plan, workload, devices } = parts;
  const stops = tokenPath(plan);
  const path = { stops, next: nextStops(stops) };
  const head = devices.get(plan.output.device) as RingDevice;
  if (parts.warm) yield* runPass(parts, createPass(parts, 'decode', parts.contextOf(0)), path, head);
  const speculation = parts.speculation ?? NO_SPECULATION;
  const accepted = acceptance(speculation, parts.seed);
  let pass: Pass | undefined;
  for (let index = 0; index <= workload.outputTokens; ) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    // A pass gives a token more than were drafted.
    const drafted = phase === 'prefill' ? 0 : Math.min(speculation.draftTokens, workload.outputTokens - index);
    const longest = parts.contextOf(index + drafted);
    parts.grow(longest);
    if (pass?.phase !== phase || pass.context !== context || pass.tokens !== drafted + 1)
      pass = createPass(parts, phase, context, drafted + 1);
    const start = simulation.now;
    for (const { paged } of devices.values()) if (paged !== undefined) yield* paged.grow(longest);
    yield* draft(parts, head, drafted * speculation.draftSeconds);
    yield* runPass(parts, pass, path, head);
    const tokens = accepted(drafted) + 1;
    const share = (simulation.now - start) / tokens;
    for (let token = 0; token < tokens; token++)
      recorder.token({ phase, start: start + token * share, end: start + (token + 1) * share });
    if (phase === 'decode' && parts.isEnough?.(recorder.tokens)) return;
    index += tokens;
  }
}

const NO_SPECULATION = { acceptanceRate: 0, draftTokens: 0, draftSeconds: 0 } as const;

/** How many of drafted tokens are accepted, at random: up to the first that isn't. */
function acceptance({ acceptanceRate }: SimulatedSpeculation, seed: number): (drafted: number) => number {
  const random = randomStream(seed, 'accepted drafts');
  return (drafted) => {
    let accepted = 0;
    while (accepted < drafted && random.next() < acceptanceRate) accepted++;
    return accepted;
  };
}

function* draft({ simulation, recorder }: RingParts, { name: device }: RingDevice, seconds: number): Steps {
  if (seconds === 0) return;
  const start = simulation.now;
  yield hold(seconds);
  recorder.span({ device, lane: 'cpu', cause: 'compute', name: 'draft', start, end: simulation.now, args: {} });
}

function* runPass(parts: RingParts, pass: Pass, { stops, next }: Path, head: RingDevice): Steps {
  const { devices } = parts;
  const rows = pass.phase === 'decode' ? pass.tokens : 1;
  for (let row = 0; row < rows; row++) yield* lookUp(head);
  let at = head;
  for (const [index, stop] of stops.entries()) {
    const device = devices.get(stop.device) as RingDevice;
    yield* sendActivations(parts, pass, at, device);
    at = device;
    for (const stage of stop.stages) yield* runStage(parts, pass, device, stage);
    if (stop.stages.length > 0) yield* copyActivations(parts, pass, device);
    if (stop.output) yield* runOutput(parts, pass, device);
    if (stop.output || stop.stages.length > 0) {
      device.leave(stop, next[index] ?? []);
      device.observe?.('released');
    }
  }
}

/** The row of the embedding is read from the disk for every token: it is too cold to stay (prima.cpp Eqs. 15–17). */
function* lookUp({ reader, cache, weights }: RingDevice): Steps {
  const row = weights.lookup;
  if (row === undefined) return;
  yield* pageFaults(reader, { range: row });
  cache.release(row);
}

/** Sends the hidden states to another device, through the relays between them. */
function* sendActivations(parts: RingParts, pass: Pass, from: RingDevice, to: RingDevice): Steps {
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
