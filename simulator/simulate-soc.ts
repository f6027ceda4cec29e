import { checkPromptLength } from '../engine/cost/check-prompt-length.ts';
import { createSocPredictor, type SocCase } from '../engine/cost/predict-soc.ts';
import { DEFAULT_RUNTIME } from '../engine/cost/runtime.ts';
import { kvBytesPerToken } from '../engine/model/model.ts';
import type { Trace } from '../engine/trace/trace.ts';
import { createSimulation } from './event-loop/simulation.ts';
import { createNoise } from './hardware/noise.ts';
import { createSharedMemory } from './hardware/shared-memory.ts';
import { DEFAULT_SEED } from './options.ts';
import { createPageCache } from './page-cache/page-cache.ts';
import { createRecorder } from './recorder.ts';
import { residentDevice } from './result.ts';
import type { SimulationParts, SimulationResult } from './simulate.ts';
import { createMemoryGuard, untilExhausted } from './systems/memory-guard.ts';
import { soc } from './systems/soc.ts';

/**
 * Replays a plan that cuts operators between a chip's GPU and NPU, which must be valid. Weights stay in memory, so that
 * the options of the page cache have nothing to act on.
 * @param contextOf tokens in the KV cache while token `index` is decoded
 * @throws InputError for a prompt of another length than the plan's
 */
export function simulateSoc(
  parts: SimulationParts,
  chip: SocCase,
  contextOf: (index: number) => number,
): SimulationResult {
  const { cluster, model, plan, workload, runtime = DEFAULT_RUNTIME, seed = DEFAULT_SEED } = parts;
  checkPromptLength(workload, chip.partition);
  const longest = { ...workload, context: contextOf(workload.outputTokens) };
  const prediction = createSocPredictor(cluster, model, longest, { runtime })(plan);
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: parts.record !== 'tokens' });
  const { spans, tokens, counters } = recorder;
  const { name } = chip.device;
  const trace: Trace = { devices: [{ name, lanes: ['cpu', 'gpu', 'npu', 'link'] }], spans, tokens, counters };
  if (prediction.infeasible.length > 0) {
    return { outOfMemory: prediction.infeasible, trace, devices: [], seconds: 0 };
  }
  const cache = createPageCache({ size: 0, limit: 0, policy: { name: 'overflow' } });
  const kvBytes = model.layers * kvBytesPerToken(model);
  const buffers = runtime.cpuBufferBytes + runtime.gpuBufferBytes;
  const fixedBytes = (context: number): number => kvBytes * context + buffers;
  const guarded = {
    name,
    cache,
    pinnedBytes: model.bytes,
    memory: { available: chip.device.memory.available, fixedBytes },
  };
  const memory = createMemoryGuard(simulation, [guarded], parts.memoryTaken ?? {});
  const request = simulation.spawn(
    'request',
    soc({
      ...chip,
      deviceName: name,
      simulation,
      recorder,
      memory: createSharedMemory(simulation, chip.device.soc.bandwidth),
      noise: createNoise(seed, parts.noise ?? 0),
      workload,
      contextOf,
      grow: memory.grow,
    }),
  );
  simulation.run(simulation.spawn('run', untilExhausted(request, memory)));
  return {
    outOfMemory: memory.shortages,
    trace,
    devices: [
      residentDevice({
        name,
        cache,
        nonReclaimableBytes: model.bytes + fixedBytes(longest.context),
        memoryTotal: chip.device.memory.total,
      }),
    ],
    seconds: simulation.now,
  };
}
