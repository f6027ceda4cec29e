import {
  type LayerSeconds,
  layerSeconds,
  outputSeconds,
  prefillLayerSeconds,
} from '../../engine/cost/layer-seconds.ts';
import type { Runtime } from '../../engine/cost/runtime.ts';
import { type CutDevice, PARTS_PER_LAYER, partSeconds } from '../../engine/cost/tensor-parallel.ts';
import type { Device } from '../../engine/hardware/device.ts';
import type { Model } from '../../engine/model/model.ts';
import type { Workload } from '../../engine/model/workload.ts';
import type { Plan } from '../../engine/plan/plan.ts';
import type { Steps } from '../event-loop/effect.ts';
import { type Countdown, createCountdown } from '../event-loop/one-shot.ts';
import type { SimulationOptions } from '../simulate.ts';
import { type Computing, compute } from './compute.ts';
import { type Sending, send } from './send.ts';

export interface TensorParallelParts extends Computing, Sending {
  readonly model: Model;
  readonly allReduce: NonNullable<Plan['allReduce']>;
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly devices: readonly CutDevice[];
  /** Tokens in the KV cache while token `index` is decoded. */
  readonly contextOf: (index: number) => number;
  /** The KV caches grow to so many tokens. */
  readonly grow: (context: number) => void;
  readonly isEnough: SimulationOptions['isEnough'] | undefined;
}

/**
 * Tensor parallelism (Megatron-LM; dllama): every device is a process that works on its share of part after part, each
 * as soon as it has the results of the part before from all, or their sum from the root. Messages meet on the network.
 */
export function* tensorParallel(parts: TensorParallelParts): Steps {
  const { simulation, recorder, workload } = parts;
  for (let index = 0; index <= workload.outputTokens; index++) {
    const phase = index === 0 ? 'prefill' : 'decode';
    const context = parts.contextOf(index);
    parts.grow(context);
    const start = simulation.now;
    yield* onePass(parts, createPass(parts, phase, context));
    recorder.token({ phase, start, end: simulation.now });
    if (phase === 'decode' && parts.isEnough?.(recorder.tokens)) return;
  }
}

/** Seconds and bytes of one pass: a decoded token, or a prompt. */
interface Pass {
  readonly layer: (device: Device) => LayerSeconds;
  readonly output: (device: Device) => LayerSeconds;
  /** Of the hidden states, and of every device's partial result. */
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

function* onePass(parts: TensorParallelParts, pass: Pass): Steps {
  const { simulation, cluster, devices, allReduce, model } = parts;
  const root = devices.findIndex(({ isRoot }) => isRoot);
  const count = PARTS_PER_LAYER * model.layers;
  const messages = allReduce === 'exchange' ? devices.length : 1;
  // What a device needs for a part, its own result included; the last is the root's, for the output layer.
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
      yield* compute(parts, name, 'cpu', seconds, partName(part));
      if (allReduce === 'exchange') deliverToAll(member, part + 1);
      else deliver(member, root, results[part] as Countdown);
    }
  }
  /** The root's adding up, beside its own work. */
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
  yield* compute(parts, name, 'cpu', pass.output(cluster.devices[index] as Device), 'output layer');
}

function partName(part: number): string {
  const layer = Math.floor(part / PARTS_PER_LAYER);
  return `layer ${layer}, ${part % PARTS_PER_LAYER === 0 ? 'attention' : 'feed-forward'}`;
}
