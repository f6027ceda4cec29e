import { checkPromptLength } from '../../engine/cost/chip/phase.ts';
import { chipCase, chipFixedBytes, createChipPredictor } from '../../engine/cost/chip/predict-chip.ts';
import { DEFAULT_RUNTIME } from '../../engine/cost/runtime.ts';
import { LAYER_OPERATORS, operatorShapes } from '../../engine/model/operators.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { ChipPlan } from '../../engine/plan/plan.ts';
import { createRecorder } from '../../engine/trace/recorder.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Steps } from '../event-loop/effect.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import { createSharedMemory } from '../hardware/chip.ts';
import { type FrameSource, submitFrames } from '../hardware/frames.ts';
import { createNoise } from '../hardware/processor.ts';
import { DEFAULT_SEED, type SimulationParts } from '../options.ts';
import { createPageCache } from '../page-cache/page-cache.ts';
import { residentDevice, type SimulationResult } from '../result.ts';
import { createChip, runSteps, type SimulatedChip, timedSteps } from './chip-steps.ts';
import { createMemoryGuard, untilExhausted } from './memory-guard.ts';

/**
 * Replays a valid plan that cuts operators between a chip's GPU and NPU. Weights stay in memory, so the options of the
 * page cache have no effect.
 * @param contextOf tokens in the KV cache while token `index` is decoded
 * @throws InputError for a prompt whose length differs from the plan's
 */
export function simulateChip(
  parts: SimulationParts & { readonly plan: ChipPlan },
  contextOf: (index: number) => number,
): SimulationResult {
  const { cluster, model, plan, workload, runtime = DEFAULT_RUNTIME, seed = DEFAULT_SEED } = parts;
  const { kvFormat } = workload;
  const chip = { ...chipCase(plan, cluster, model), kvFormat, ...(parts.times && { times: parts.times }) };
  checkPromptLength(workload, chip.partition);
  const longest = { ...workload, context: contextOf(workload.outputTokens) };
  const prediction = createChipPredictor(cluster, model, longest, { runtime })(plan);
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: parts.record !== 'tokens' });
  const { spans, tokens, counters } = recorder;
  const { name } = chip.device;
  const trace: Trace = { devices: [{ name, lanes: ['cpu', 'gpu', 'npu', 'link'] }], spans, tokens, counters };
  if (prediction.infeasible.length > 0) {
    return { outOfMemory: prediction.infeasible, trace, devices: [], seconds: 0 };
  }
  const cache = createPageCache({ size: 0, limit: 0, policy: { name: 'overflow' } });
  const fixedBytes = (context: number): number => chipFixedBytes(model, { ...workload, context }, runtime);
  const guarded = {
    name,
    cache,
    pinnedBytes: model.bytes,
    memory: { available: chip.device.memory.available, fixedBytes },
  };
  const memory = createMemoryGuard(simulation, [guarded], parts.memoryTaken ?? {});
  const request = simulation.spawn(
    'request',
    runRequest({
      ...chip,
      deviceName: name,
      simulation,
      recorder,
      memory: createSharedMemory(simulation, chip.device.soc.bandwidth),
      noise: createNoise(seed, parts.noise ?? 0),
      workload,
      contextOf,
      grow: memory.grow,
      frames: parts.frames,
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

interface RequestParts extends SimulatedChip {
  readonly workload: Workload;
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** Grows the KV cache to this many tokens. */
  readonly grow: (context: number) => void;
  readonly frames: FrameSource | undefined;
}

/** Runs one request, prefill and then every token, on a chip that has the whole model. */
function* runRequest(parts: RequestParts): Steps {
  const { simulation, recorder, partition, model, workload } = parts;
  const chip = createChip(parts);
  if (parts.frames !== undefined) {
    simulation.spawn('frames', submitFrames({ simulation, gpu: chip.gpu }, parts.frames));
  }
  const shapes = operatorShapes(model);
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    parts.grow(context);
    const start = simulation.now;
    chip.isSubmitted = false;
    if (phase === 'prefill') {
      for (const name of LAYER_OPERATORS) {
        for (const length of partition.prefill[name].npuLengths) yield* chip.npu.prepare(shapes[name], length);
      }
    }
    const { layer, output } = timedSteps(parts, phase, { context });
    for (let at = 0; at < model.layers; at++) yield* runSteps(chip, layer, `layer ${at}, `);
    yield* runSteps(chip, output, '');
    yield* chip.gpu.drain();
    recorder.token({ phase, start, end: simulation.now });
  }
}
