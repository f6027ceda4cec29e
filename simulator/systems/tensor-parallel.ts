import {
  type LayerSeconds,
  layerSeconds,
  outputSeconds,
  prefillLayerSeconds,
} from '../../engine/cost/layer-seconds.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../../engine/cost/runtime.ts';
import {
  type CutDevice,
  createTensorPredictor,
  cutDevices,
  cutMemory,
  PARTS_PER_LAYER,
  partSeconds,
} from '../../engine/cost/tensor-parallel.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { TensorParallelPlan } from '../../engine/plan/plan.ts';
import { createRecorder } from '../../engine/trace/recorder.ts';
import type { Trace } from '../../engine/trace/trace.ts';
import type { Steps } from '../event-loop/effect.ts';
import { type Countdown, createCountdown } from '../event-loop/one-shot.ts';
import { createSimulation } from '../event-loop/simulation.ts';
import { createNetwork, type Sending, send } from '../hardware/network.ts';
import { type Computing, compute, createNoise } from '../hardware/processor.ts';
import { DEFAULT_SEED, type SimulationOptions, type SimulationParts } from '../options.ts';
import { createPageCache } from '../page-cache/page-cache.ts';
import { residentDevice, type SimulationResult } from '../result.ts';
import { createMemoryGuard, untilExhausted } from './memory-guard.ts';

/**
 * Replays a valid plan that cuts tensors among devices. Weights stay in memory, so the options of the page cache have
 * no effect.
 * @param contextOf tokens in the KV cache while token `index` is decoded
 */
export function simulateTensorParallel(
  parts: SimulationParts & { readonly plan: TensorParallelPlan },
  contextOf: (index: number) => number,
): SimulationResult {
  const { cluster, model, plan, workload, runtime = DEFAULT_RUNTIME, seed = DEFAULT_SEED } = parts;
  const devices = cutDevices(plan, cluster);
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
    pinnedBytes: cutMemory(device, { model, workload, runtime }).weights,
    memory: {
      available: breakdownOf(device.name)?.ramAvailable ?? 0,
      fixedBytes: (context: number) => cutMemory(device, { model, workload: { ...workload, context }, runtime }).fixed,
    },
  }));
  const memory = createMemoryGuard(simulation, guarded, parts.memoryTaken ?? {});
  const request = simulation.spawn(
    'request',
    runRequest({
      simulation,
      recorder,
      network: createNetwork(simulation, cluster, seed),
      noise: createNoise(seed, parts.noise ?? 0),
      cluster,
      model,
      allReduce: plan.allReduce,
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

interface TensorParallelParts extends Computing, Sending {
  readonly model: Model;
  readonly allReduce: TensorParallelPlan['allReduce'];
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly devices: readonly CutDevice[];
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** Grows the KV caches to this many tokens. */
  readonly grow: (context: number) => void;
  readonly isEnough: SimulationOptions['isEnough'] | undefined;
}

/**
 * Tensor parallelism (Megatron-LM; dllama): every device is a process that computes its share of one part after
 * another, each as soon as it has the results of the part before from all devices, or their sum from the root. Messages
 * share the network.
 */
function* runRequest(parts: TensorParallelParts): Steps {
  const { simulation, recorder, workload } = parts;
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    parts.grow(context);
    const start = simulation.now;
    yield* runPass(parts, createPass(parts, phase, context));
    recorder.token({ phase, start, end: simulation.now });
    if (phase === 'decode' && parts.isEnough?.(recorder.tokens)) return;
  }
}

/** Seconds and bytes of one pass: a decoded token, or a prompt. */
interface Pass {
  readonly layer: (device: Device) => LayerSeconds;
  readonly output: (device: Device) => LayerSeconds;
  /** Bytes of a message: the hidden states, or a device's partial result. */
  readonly bytes: number;
}

function createPass(
  { model, workload, runtime }: TensorParallelParts,
  phase: 'prefill' | 'decode',
  context: number,
): Pass {
  const now = { ...workload, context };
  const tokens = phase === 'prefill' ? workload.promptTokens : 1;
  return {
    layer: ({ cpu }) =>
      phase === 'prefill' ? prefillLayerSeconds(model, workload, cpu) : layerSeconds(model, now, cpu),
    output: ({ cpu }) => outputSeconds(model, now, cpu),
    bytes: runtime.activationBytes * model.hiddenSize * tokens * workload.batch,
  };
}

function* runPass(parts: TensorParallelParts, pass: Pass): Steps {
  const { simulation, cluster, devices, allReduce, model } = parts;
  const root = devices.findIndex(({ isRoot }) => isRoot);
  const count = PARTS_PER_LAYER * model.layers;
  const messages = allReduce === 'exchange' ? devices.length : 1;
  // The results that a device waits for before a part, including its own. The last input is that of the output layer,
  // on the root.
  const inputs = devices.map(({ name, isRoot }) =>
    Array.from({ length: count + 1 }, (_, part) =>
      createCountdown(`the sum before part ${part} on ${name}`, part > 0 ? messages : isRoot ? 0 : 1),
    ),
  );
  const input = (member: number, part: number): Countdown => (inputs[member] as Countdown[])[part] as Countdown;
  const results = Array.from({ length: count }, (_, part) =>
    createCountdown(`results of part ${part}`, devices.length),
  );

  function* message(from: number, to: number, arrived: Countdown): Steps {
    yield* send(parts, (devices[from] as CutDevice).index, (devices[to] as CutDevice).index, pass.bytes);
    arrived.arrive();
  }
  const deliver = (from: number, to: number, arrived: Countdown): void => {
    if (from === to) arrived.arrive();
    else simulation.spawn(`message of ${devices[from]?.name} to ${devices[to]?.name}`, message(from, to, arrived));
  };
  const deliverToAll = (from: number, part: number): void => {
    for (const to of devices.keys()) {
      if (part < count || to === root) deliver(from, to, input(to, part));
    }
  };

  function* work(member: number): Steps {
    const { name, index, share } = devices[member] as CutDevice;
    const device = cluster.devices[index] as Device;
    const seconds = partSeconds(pass.layer(device), share, device.cpu.kvCopyLatency);
    for (let part = 0; part < count; part++) {
      yield input(member, part).wait();
      yield* compute(parts, { device: name, lane: 'cpu', seconds, name: partName(part) });
      if (allReduce === 'exchange') deliverToAll(member, part + 1);
      else deliver(member, root, results[part] as Countdown);
    }
  }
  /** The root adds up results, concurrently with its own parts. */
  function* addUp(): Steps {
    for (const [part, result] of results.entries()) {
      yield result.wait();
      deliverToAll(root, part + 1);
    }
  }

  for (const [member, { name }] of devices.entries()) {
    if (member !== root) deliver(root, member, input(member, 0));
    simulation.spawn(`layers on ${name}`, work(member));
  }
  if (allReduce === 'star') simulation.spawn('sums on the root', addUp());
  yield input(root, count).wait();
  const { name, index } = devices[root] as CutDevice;
  const seconds = pass.output(cluster.devices[index] as Device);
  yield* compute(parts, { device: name, lane: 'cpu', seconds, name: 'output layer' });
}

function partName(part: number): string {
  const layer = Math.floor(part / PARTS_PER_LAYER);
  return `layer ${layer}, ${part % PARTS_PER_LAYER === 0 ? 'attention' : 'feed-forward'}`;
}
