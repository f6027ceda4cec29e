import { reservedKvBytes } from '../engine/cost/layer-seconds.ts';
import { createTensorPredictor } from '../engine/cost/predict-tensor.ts';
import { DEFAULT_RUNTIME } from '../engine/cost/runtime.ts';
import { type CutDevice, cutBytes } from '../engine/cost/tensor-parallel.ts';
import type { Trace } from '../engine/trace/trace.ts';
import { createSimulation } from './event-loop/simulation.ts';
import { createNetwork } from './hardware/network.ts';
import { createNoise } from './hardware/noise.ts';
import { DEFAULT_SEED } from './options.ts';
import { createPageCache } from './page-cache/page-cache.ts';
import { createRecorder } from './recorder.ts';
import { residentDevice } from './result.ts';
import type { SimulationParts, SimulationResult } from './simulate.ts';
import { createMemoryGuard, untilExhausted } from './systems/memory-guard.ts';
import { tensorParallel } from './systems/tensor-parallel.ts';

/**
 * Replays a plan that cuts tensors among devices, which must be valid. Nothing is mapped, so nothing is reclaimed: the
 * options of the page cache have nothing to act on.
 * @param contextOf tokens in the KV cache while token `index` is decoded
 */
export function simulateCut(
  parts: SimulationParts,
  devices: readonly CutDevice[],
  contextOf: (index: number) => number,
): SimulationResult {
  const { cluster, model, plan, workload, runtime = DEFAULT_RUNTIME, seed = DEFAULT_SEED } = parts;
  const longest = { ...workload, context: contextOf(workload.outputTokens) };
  const prediction = createTensorPredictor(cluster, model, longest, { runtime })(plan);
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: parts.record !== 'tokens' });
  const inRingOrder = devices.toSorted((a, b) => a.index - b.index);
  const { spans, tokens, counters } = recorder;
  const lanes = ['cpu', 'link'] as const;
  const trace: Trace = { devices: inRingOrder.map(({ name }) => ({ name, lanes })), spans, tokens, counters };
  if (prediction.infeasible.length > 0) {
    return { outOfMemory: prediction.infeasible, trace, devices: [], seconds: 0 };
  }
  const breakdownOf = (name: string) => prediction.devices.find(({ device }) => device === name);
  const guarded = inRingOrder.map((device) => ({
    name: device.name,
    index: device.index,
    cache: createPageCache({ size: 0, limit: 0, policy: { name: 'overflow' } }),
    pinnedBytes: cutBytes(device, model, { kvBytes: 0, cpuBufferBytes: 0 }),
    memory: {
      available: breakdownOf(device.name)?.ramAvailable ?? 0,
      fixedBytes: (context: number) =>
        device.share * model.layers * reservedKvBytes(model, { ...workload, context }) + runtime.cpuBufferBytes,
    },
  }));
  const memory = createMemoryGuard(simulation, guarded, parts.memoryTaken ?? {});
  const request = simulation.spawn(
    'request',
    tensorParallel({
      simulation,
      recorder,
      network: createNetwork(simulation, cluster, seed),
      noise: createNoise(seed, parts.noise ?? 0),
      cluster,
      model,
      allReduce: plan.allReduce ?? 'exchange',
      workload,
      runtime,
      devices,
      contextOf,
      grow: memory.grow,
      isEnough: parts.isEnough,
    }),
  );
  simulation.run(simulation.spawn('run', untilExhausted(request, memory)));
  return {
    outOfMemory: memory.shortages,
    trace,
    devices: guarded.map(({ name, index, cache }) =>
      residentDevice({
        name,
        cache,
        nonReclaimableBytes: breakdownOf(name)?.nonReclaimableBytes ?? 0,
        memoryTotal: cluster.devices[index]?.memory.total ?? 0,
      }),
    ),
    seconds: simulation.now,
  };
}
