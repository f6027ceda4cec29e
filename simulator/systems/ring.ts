import { fitWeights } from '../../engine/cost/fit-weights.ts';
import { createRingPredictor } from '../../engine/cost/predict-ring.ts';
import { createRingCosts, type DeviceCosts } from '../../engine/cost/ring-costs.ts';
import { DEFAULT_RUNTIME } from '../../engine/cost/runtime.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import { chipPartitions } from '../../engine/plan/chip-partitions.ts';
import { stagesByDevice } from '../../engine/plan/stages-by-device.ts';
import type { Lane, TracedDevice } from '../../engine/trace/trace.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import { gpuKvPages } from '../hardware/gpu-kv-pages.ts';
import { createNetwork } from '../hardware/network.ts';
import { createNoise } from '../hardware/noise.ts';
import { weightsMemory } from '../hardware/weights-memory.ts';
import { DEFAULT_SEED } from '../options.ts';
import { DEFAULT_EXTENT_BYTES } from '../page-cache/page-cache.ts';
import { createRecorder } from '../recorder.ts';
import type { SimulatedDevice, SimulationParts, SimulationResult } from '../simulate.ts';
import { createMemoryGuard, untilExhausted } from './memory-guard.ts';
import { createRingChips } from './ring-chip.ts';
import { createRingDevice, prefetchWindows, type RingDevice } from './ring-device.ts';
import { ring } from './ring-pass.ts';

/** Assumed: what a prefetching thread keeps in flight; the kernel takes 4 MiB a call, several at a time. */
const LEAST_CHUNK_BYTES = 16 * 2 ** 20;
/** Of large layers a larger part, so that a run has no more events than it needs: a wait ends so much later at most. */
const CHUNKS_PER_LAYER = 8;

/**
 * Replays a plan whose layers lie on devices as a whole, which must be valid: rings, single devices, CPU and GPU, layers
 * streamed to a GPU.
 * @param contextOf tokens in the KV cache while token `index` is decoded
 */
export function simulateRing(parts: SimulationParts, contextOf: (index: number) => number): SimulationResult {
  const { cluster, model, workload, reclaim = 'os', seed = DEFAULT_SEED, paging } = parts;
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
  const costs = createRingCosts(cluster, model, workload, runtime);
  const stages = stagesByDevice(plan);
  const devices = cluster.devices.flatMap((device, index) => {
    const own = stages.get(device.name) ?? [];
    if (own.length === 0 && device.name !== plan.output.device) return [];
    const paged = gpuKvPages({ paging, device, model, plan, stages: own, workload, runtime });
    const memory = weightsMemory({
      device,
      costs,
      deviceCosts: costs.devices[index] as DeviceCosts,
      model,
      plan,
      stages: own,
      workload,
      reclaim,
      paged,
      nonReclaimableBytes: nonReclaimable.get(device.name) ?? 0,
    });
    return createRingDevice({
      simulation,
      recorder,
      observe: parts.observe,
      device,
      index,
      costs,
      plan,
      stages: own,
      memory,
      paged,
      context: contextOf(0),
      ownFile: parts.files === 'own',
      throttle: parts.throttle,
      extentBytes: parts.extentBytes ?? DEFAULT_EXTENT_BYTES,
      chunkBytes: parts.chunkBytes ?? Math.max(LEAST_CHUNK_BYTES, model.layer.bytes / CHUNKS_PER_LAYER),
    });
  });
  for (const device of devices) {
    const { name, prefetcher } = device;
    if (prefetcher !== undefined) simulation.spawn(`prefetching on ${name}`, prefetchWindows(device, prefetcher));
  }
  const noise = createNoise(seed, parts.noise ?? 0);
  const guard = createMemoryGuard(simulation, devices, parts.memoryTaken ?? {});
  const request = simulation.spawn(
    'request',
    ring({
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
    }),
  );
  simulation.run(simulation.spawn('run', untilExhausted(request, guard)));
  return {
    outOfMemory: guard.shortages,
    trace,
    devices: devices.map((device) => summary(device, cluster, nonReclaimable)),
    seconds: simulation.now,
  };
}

function tracedDevices({ cluster, plan }: SimulationParts): TracedDevice[] {
  const holders = new Set([plan.output.device, ...plan.stages.map(({ device }) => device)]);
  const relays = new Set(plan.relays);
  const chips = chipPartitions(plan);
  return cluster.devices.flatMap(({ name, gpu }): TracedDevice[] => {
    if (relays.has(name)) return [{ name, lanes: ['link'] }];
    const processors: Lane[] = ['cpu', ...(gpu === undefined ? [] : ['gpu' as const])];
    if (chips.has(name)) processors.push('npu');
    return holders.has(name) ? [{ name, lanes: [...processors, 'disk', 'link'] }] : [];
  });
}

function summary(
  { name, index, cache, reader, disk }: RingDevice,
  cluster: Cluster,
  nonReclaimable: ReadonlyMap<string, number>,
): SimulatedDevice {
  return {
    device: name,
    ...reader.totals,
    cache: cache.usage(),
    counters: cache.counters(),
    diskSeconds: disk.busySeconds(),
    nonReclaimableBytes: nonReclaimable.get(name) ?? 0,
    memoryTotal: cluster.devices[index]?.memory.total ?? 0,
  };
}
