import { createRingPredictor } from '../../engine/cost/predict-ring.ts';
import { createRingCosts } from '../../engine/cost/ring-costs.ts';
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
  const { cluster, model, plan, workload, reclaim = 'os', seed = DEFAULT_SEED, paging } = parts;
  const runtime = { ...(parts.runtime ?? DEFAULT_RUNTIME), partitions: chipPartitions(plan) };
  const longest = { ...workload, context: contextOf(workload.outputTokens) };
  const prediction = createRingPredictor(cluster, model, longest, { runtime, ...(paging && { paging }) })(plan);
  const fixedBytes = new Map(prediction.devices.map(({ device, pinnedBytes }) => [device, pinnedBytes]));
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
    const mostFixedBytes = fixedBytes.get(device.name) ?? 0;
    const paged = gpuKvPages({ paging, device, model, plan, stages: own, workload, runtime });
    const evictedKvBytes = paged && ((context: number): number => paged.pages(context).ramBytes);
    const sizes = { device, model, stages: own, kvCache: plan.kvCache, workload, runtime };
    const memory = { ...sizes, reclaim, evictedKvBytes, mostFixedBytes };
    return createRingDevice({
      simulation,
      recorder,
      observe: parts.observe,
      device,
      index,
      costs,
      plan,
      stages: own,
      memory: weightsMemory(memory),
      paged,
      context: contextOf(0),
      ownFile: parts.files === 'own',
      throttle: parts.throttle,
      extentBytes: parts.extentBytes ?? DEFAULT_EXTENT_BYTES,
      chunkBytes: parts.chunkBytes ?? Math.max(LEAST_CHUNK_BYTES, model.layer.bytes / CHUNKS_PER_LAYER),
    });
  });
  for (const device of devices) {
    if (device.policy.prefetch !== 'none') simulation.spawn(`prefetching on ${device.name}`, prefetchWindows(device));
  }
  const noise = createNoise(seed, parts.noise ?? 0);
  const memory = createMemoryGuard(simulation, devices, parts.memoryTaken ?? {});
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
      grow: memory.grow,
      isEnough: parts.isEnough,
      joinsLayers: parts.joinsLayers ?? false,
    }),
  );
  simulation.run(simulation.spawn('run', untilExhausted(request, memory)));
  return {
    outOfMemory: memory.shortages,
    trace,
    devices: devices.map((device) => summary(device, cluster, fixedBytes)),
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
  fixedBytes: ReadonlyMap<string, number>,
): SimulatedDevice {
  return {
    device: name,
    ...reader.totals,
    cache: cache.usage(),
    counters: cache.counters(),
    diskSeconds: disk.busySeconds(),
    nonReclaimableBytes: fixedBytes.get(name) ?? 0,
    memoryTotal: cluster.devices[index]?.memory.total ?? 0,
  };
}
