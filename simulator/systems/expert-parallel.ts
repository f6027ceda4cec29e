import { withoutExperts } from '../../engine/cost/crossed-experts.ts';
import { createExpertParallelPredictor } from '../../engine/cost/expert-parallel.ts';
import {
  type ExpertDevice,
  expertDevices,
  type HeldLoad,
  heldExpertSeconds,
  heldMemory,
} from '../../engine/cost/held-experts.ts';
import {
  type LayerSeconds,
  layerSeconds,
  outputSeconds,
  prefillLayerSeconds,
} from '../../engine/cost/layer-seconds.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../../engine/cost/runtime.ts';
import { drawnRouting } from '../../engine/experts/drawn-routings.ts';
import { requestBytes, resultBytes } from '../../engine/experts/expert-traffic.ts';
import { expertsOf, type Routing } from '../../engine/experts/routing.ts';
import type { Device } from '../../engine/hardware/device.ts';
import { InputError } from '../../engine/input/input-error.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { ExpertParallelPlan } from '../../engine/plan/plan.ts';
import { expertLayersOf } from '../../engine/plan/validate-experts.ts';
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
import { checkRouting } from './planned-experts.ts';

/** Tokens of a routing that is drawn, before it begins anew. */
const DRAWN_TOKENS = 1024;
/** All experts are equally likely if no routing is known, as in the closed form. */
const NOTHING_AGAIN = { previous: 0, recent: 0, window: 1 } as const;

/** Options that a simulation of experts with holders doesn't know. */
const UNKNOWN = ['paging', 'files', 'pins', 'times', 'warm', 'throttle'] as const;

/**
 * Replays a valid plan that divides experts among devices. All weights stay in memory, so the options of the page cache have
 * no effect. The prompt goes through the layers in one pass.
 * @param contextOf tokens in the KV cache while token `index` is decoded
 * @throws InputError for a routing of another shape, and an option that isn't simulated
 */
export function simulateExpertParallel(
  parts: SimulationParts & { readonly plan: ExpertParallelPlan },
  contextOf: (index: number) => number,
): SimulationResult {
  const { cluster, model, plan, workload, runtime = DEFAULT_RUNTIME, seed = DEFAULT_SEED } = parts;
  for (const option of UNKNOWN)
    if (parts[option] !== undefined && parts[option] !== false && parts[option] !== 'whole')
      throw new InputError(option, 'is not simulated for a plan that divides experts; leave it out');
  if (parts.routing !== undefined) checkRouting(parts.routing, model);
  const devices = expertDevices(plan, cluster);
  const longest = { ...workload, context: contextOf(workload.outputTokens) };
  const prediction = createExpertParallelPredictor(cluster, model, longest, { runtime })(plan);
  const simulation = createSimulation();
  const recorder = createRecorder({ spans: parts.record !== 'tokens' });
  const { spans, tokens, counters } = recorder;
  const lanes = ['cpu', 'link'] as const;
  const inRingOrder = devices.toSorted((a, b) => a.index - b.index);
  const trace: Trace = { devices: inRingOrder.map(({ device }) => ({ name: device, lanes })), spans, tokens, counters };
  if (prediction.infeasible.length > 0) return { outOfMemory: prediction.infeasible, trace, devices: [], seconds: 0 };
  const breakdownOf = (name: string) => prediction.devices.find(({ device }) => device === name);
  const guarded = inRingOrder.map((device) => ({
    name: device.device,
    index: device.index,
    cache: createPageCache({ size: 0, limit: 0, policy: { name: 'overflow' } }),
    pinnedBytes: heldMemory(device, { model, workload, runtime }).weights,
    memory: {
      available: breakdownOf(device.device)?.ramAvailable ?? 0,
      fixedBytes: (context: number) => heldMemory(device, { model, workload: { ...workload, context }, runtime }).fixed,
    },
  }));
  const memory = createMemoryGuard(simulation, guarded, parts.memoryTaken ?? {});
  const request = simulation.spawn(
    'request',
    runRequest({
      ...{ simulation, recorder, cluster, model, workload, runtime, devices, contextOf },
      network: createNetwork(simulation, cluster, seed),
      noise: createNoise(seed, parts.noise ?? 0),
      routing: parts.routing ?? uniformRouting(model, seed),
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
        ...{ name, cache },
        nonReclaimableBytes: breakdownOf(name)?.nonReclaimableBytes ?? 0,
        memoryTotal: cluster.devices[index]?.memory.total ?? 0,
      }),
    ),
    seconds: simulation.now,
  };
}

/** A routing in which all experts of a layer are equally likely. */
function uniformRouting(model: Model, seed: number): Routing {
  const { layers, experts, used } = expertLayersOf(model, 0, model.layers);
  const shares = new Array(layers).fill(new Float64Array(experts).fill(used / experts));
  return drawnRouting({ shares, recurrence: NOTHING_AGAIN }, { tokens: DRAWN_TOKENS, layers, used, seed });
}

interface ExpertParallelParts extends Computing, Sending {
  readonly model: Model;
  readonly workload: Workload;
  readonly runtime: Runtime;
  /** The head first. */
  readonly devices: readonly ExpertDevice[];
  readonly routing: Routing;
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** Grows the KV caches to this many tokens. */
  readonly grow: (context: number) => void;
  readonly isEnough: SimulationOptions['isEnough'] | undefined;
}

function* runRequest(parts: ExpertParallelParts): Steps {
  const { simulation, recorder, workload } = parts;
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    parts.grow(context);
    const start = simulation.now;
    yield* runPass(parts, createPass(parts, index, context));
    recorder.token({ phase, start, end: simulation.now });
    if (phase === 'decode' && parts.isEnough?.(recorder.tokens)) return;
  }
}

/** One pass: a decoded token of every text, or their prompts. */
interface Pass {
  readonly phase: 'prefill' | 'decode';
  /** Seconds of a layer on the head without its experts. */
  readonly layer: LayerSeconds;
  readonly output: LayerSeconds;
  /** Tokens of the routing that go through the layers. */
  readonly tokens: readonly number[];
}

/** @param index 0 for the prompts, then the place of the decoded token */
function createPass(
  { model, workload, devices, cluster, routing }: ExpertParallelParts,
  index: number,
  context: number,
): Pass {
  const { cpu } = cluster.devices[devices[0]?.index ?? 0] as Device;
  const { promptTokens, batch } = workload;
  const now = { ...workload, context };
  const dense = withoutExperts(model);
  const [from, count] = index === 0 ? [0, promptTokens] : [promptTokens + index - 1, 1];
  // Texts begin at equal distances in the routing, which begins anew at its end.
  const tokens = Array.from({ length: batch }, (_, text) =>
    Array.from({ length: count }, (_, token) => {
      return (Math.floor((text * routing.tokens) / batch) + from + token) % routing.tokens;
    }),
  ).flat();
  return {
    phase: index === 0 ? 'prefill' : 'decode',
    layer: index === 0 ? prefillLayerSeconds(dense, workload, cpu) : layerSeconds(dense, now, cpu),
    output: outputSeconds(model, now, cpu),
    tokens,
  };
}

/**
 * The head computes a layer up to its router and sends tokens to the holders of the experts that they chose; these multiply
 * and send the sums back, while the head multiplies its own. The layer has ended when all sums are there.
 */
function* runPass(parts: ExpertParallelParts, pass: Pass): Steps {
  const { simulation, cluster, devices, model, runtime, routing } = parts;
  const [head] = devices as [ExpertDevice, ...ExpertDevice[]];
  const rowBytes = runtime.activationBytes * model.hiddenSize;

  function* multiply(device: ExpertDevice, load: HeldLoad, name: string): Steps {
    const { cpu } = cluster.devices[device.index] as Device;
    const seconds = heldExpertSeconds(model, load, { cpu, isHead: device.isHead });
    yield* compute(parts, { device: device.device, lane: 'cpu', seconds, name });
  }
  function* elsewhere(
    device: ExpertDevice,
    load: HeldLoad,
    { name, arrived }: { name: string; arrived: Countdown },
  ): Steps {
    yield* send(parts, head.index, device.index, requestBytes(load, rowBytes));
    yield* multiply(device, load, name);
    yield* send(parts, device.index, head.index, resultBytes(load, rowBytes));
    arrived.arrive();
  }

  let mixture = 0;
  for (const [layer, { feedForward }] of model.kinds.entries()) {
    yield* compute(parts, { device: head.device, lane: 'cpu', seconds: pass.layer, name: `layer ${layer}` });
    if (feedForward?.kind !== 'experts') continue;
    const name = `layer ${layer}, experts`;
    const loads = devices.map(({ experts }) => loadOf(routing, pass, mixture, new Set(experts[mixture])));
    mixture += 1;
    const others = devices.flatMap((device, at) => {
      const load = loads[at] as HeldLoad;
      return device === head || load.rows === 0 ? [] : [{ device, load }];
    });
    const arrived = createCountdown(`the sums of ${name}`, others.length);
    for (const { device, load } of others)
      simulation.spawn(`${name} on ${device.device}`, elsewhere(device, load, { name, arrived }));
    const own = loads[0] as HeldLoad;
    if (own.rows > 0) yield* multiply(head, own, name);
    yield arrived.wait();
  }
  yield* compute(parts, { device: head.device, lane: 'cpu', seconds: pass.output, name: 'output layer' });
}

/** The work of a device in a layer with experts, by its place among those. */
function loadOf(routing: Routing, { tokens, phase }: Pass, layer: number, held: ReadonlySet<number>): HeldLoad {
  const distinct = new Set<number>();
  let [rows, choices] = [0, 0];
  for (const token of tokens) {
    const own = expertsOf(routing, token, layer).filter((expert) => held.has(expert));
    if (own.length > 0) rows += 1;
    choices += own.length;
    for (const expert of own) distinct.add(expert);
  }
  return { rows, choices, experts: distinct.size, phase };
}
