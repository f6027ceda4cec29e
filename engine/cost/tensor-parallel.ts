import { type Cluster, deviceIndex } from '../hardware/cluster.ts';
import type { Device } from '../hardware/device.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { TensorParallelPlan } from '../plan/plan.ts';
import {
  addSeconds,
  type Breakdown,
  type DeviceBreakdown,
  infeasibility,
  noSeconds,
  type Seconds,
  totalSeconds,
} from './breakdown.ts';
import { type LayerSeconds, reservedKvBytes } from './layer-seconds.ts';
import { createRingCosts, type DeviceCosts, type RingCosts } from './ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from './runtime.ts';

export interface TensorPredictionOptions {
  readonly runtime?: Runtime;
}

/**
 * Creates a predictor of TPOT for plans that cut tensors. The root looks up the token and sends the hidden state e to
 * all devices. Then, part by part, two for every layer, each device works on its share as soon as it has all results of
 * the part before:
 *
 *   start(p + 1, j) = max over i of start(p, i) + seconds(i) + delay(i, j)
 *
 * where delay is one message of size e from i to j (`exchange`), or two, by way of the root (`star`). The root runs the
 * output layer on the last sum. For more than two equal devices, parts of t seconds and messages of c seconds, the
 * layers take c + 2L (t + c) with `exchange` and 2L (t + 2c) with `star`. Contention of messages is left to the
 * simulator.
 *
 * The seconds of devices and stages are those on the critical path, so that they add up to those of the token: a device
 * that the others never wait for has 0. Nothing is read from disk: the plan is infeasible if a device's part exceeds
 * its memory.
 */
export function createTensorPredictor(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  { runtime = DEFAULT_RUNTIME }: TensorPredictionOptions = {},
): (plan: TensorParallelPlan) => Breakdown {
  const costs = createRingCosts(cluster, model, workload, runtime);
  return (plan) => {
    const members = cutDevices(plan, cluster).map((cut): Member => {
      const { cpu, memory } = cluster.devices[cut.index] as Device;
      const device = costs.devices[cut.index] as DeviceCosts;
      const part = { ...noSeconds(), ...partSeconds(device.cpu, cut.share, cpu.kvCopyLatency) };
      const available = device.kind === 'android' ? device.available : memory.available;
      return { ...cut, device, part, available, seconds: noSeconds() };
    });
    addCriticalPath(members, costs, plan.allReduce);
    return breakdown(plan, members, { model, workload, runtime });
  };
}

interface Member extends CutDevice {
  readonly device: DeviceCosts;
  /** Seconds of one part. */
  readonly part: Seconds;
  /** Available RAM, bytes. */
  readonly available: number;
  /** Seconds on the critical path. */
  readonly seconds: Seconds;
}

/**
 * Adds the critical path to the members' seconds: a forward pass finds when each part starts on each device, and which
 * result it waited for last; a backward pass follows these results from the root's last one.
 */
function addCriticalPath(members: readonly Member[], costs: RingCosts, allReduce: 'exchange' | 'star'): void {
  const root = members.findIndex(({ isRoot }) => isRoot);
  const hop = (from: number, to: number): number =>
    costs.hop((members[from] as Member).index, (members[to] as Member).index);
  const delay = (from: number, to: number): number =>
    allReduce === 'exchange' ? hop(from, to) : hop(from, root) + hop(root, to);
  const work = members.map(({ part }) => totalSeconds(part));
  let starts = members.map((_, member) => hop(root, member));
  const lastOf: number[][] = [];
  const parts = PARTS_PER_LAYER * costs.layers;
  for (let part = 0; part < parts; part++) {
    const from = members.map((_, to) => latest(members, (member) => arrival(member, to)));
    lastOf.push(from);
    starts = from.map((member, to) => arrival(member, to));
  }
  let at = root;
  for (const from of lastOf.toReversed()) {
    const member = from[at] as number;
    const { seconds, part } = members[member] as Member;
    addSeconds(seconds, part);
    seconds.link += delay(member, at);
    at = member;
  }
  (members[root] as Member).seconds.link += hop(root, at);

  function arrival(from: number, to: number): number {
    return (starts[from] as number) + (work[from] as number) + delay(from, to);
  }
}

/** The index of the first item with the greatest value. */
function latest<Item>(items: readonly Item[], value: (index: number) => number): number {
  return items.reduce((best, _, index) => (value(index) > value(best) ? index : best), 0);
}

function breakdown(
  plan: TensorParallelPlan,
  members: readonly Member[],
  { model, workload, runtime }: { readonly model: Model; readonly workload: Workload; readonly runtime: Runtime },
): Breakdown {
  const { layers } = model;
  const root = members.find(({ isRoot }) => isRoot) as Member;
  const stages = members.map(({ name, share, seconds }) => ({
    device: name,
    processor: 'cpu' as const,
    layers: layers * share,
    name: `${Number((100 * share).toPrecision(3))} % of layers 0–${layers - 1}`,
    output: false,
    seconds: { ...seconds },
  }));
  const output = { ...noSeconds(), ...root.device.outputOnCpu };
  addSeconds(root.seconds, output);
  const devices = members.map((member): DeviceBreakdown => {
    const { weights, fixed } = cutMemory(member, { model, workload, runtime });
    const bytes = weights + fixed;
    return {
      device: member.name,
      cpuLayers: layers * member.share,
      gpuLayers: 0,
      windows: 1,
      seconds: member.seconds,
      reloadedBytes: 0,
      ramBytes: bytes,
      ramAvailable: member.available,
      vramBytes: 0,
      vramAvailable: member.device.gpuRoom,
      nonReclaimableBytes: bytes,
    };
  });
  const seconds = noSeconds();
  for (const device of devices) addSeconds(seconds, device.seconds);
  const infeasible = devices.flatMap(({ device, ramBytes, ramAvailable }) => {
    if (ramBytes <= ramAvailable) return [];
    return [infeasibility(device, 'ram', 'parts of the weights, KV cache and buffers', ramBytes, ramAvailable)];
  });
  return {
    tokenSeconds: totalSeconds(seconds),
    infeasible,
    seconds,
    devices,
    stages: [...stages, { ...plan.output, layers: 0, output: true, seconds: output }],
    reloadedBytes: 0,
  };
}

/** Parts of a layer, attention and feed-forward: each ends in an all-reduce (Megatron-LM 3; dllama). */
export const PARTS_PER_LAYER = 2;

/** A device that holds its share of every tensor. */
export interface CutDevice {
  readonly name: string;
  /** Index in the cluster. */
  readonly index: number;
  readonly share: number;
  readonly isRoot: boolean;
}

/** The devices of a plan that cuts tensors, in the plan's order. */
export function cutDevices({ stages: [stage] }: TensorParallelPlan, cluster: Cluster): CutDevice[] {
  return stage.cut.map(({ device, share }) => ({
    name: device,
    index: deviceIndex(cluster, device),
    share,
    isRoot: device === stage.device,
  }));
}

/**
 * Seconds of a device's part between two all-reduces: half of its share of a layer. Attention and feed-forward count as
 * equal halves, so the slowest device is the same in both. The latencies of dispatch and of appending keys and values
 * don't shrink with the share.
 */
export function partSeconds(layer: LayerSeconds, share: number, kvCopyLatency: number): LayerSeconds {
  const part = share / PARTS_PER_LAYER;
  return {
    compute: layer.compute * part,
    memory: layer.memory * part,
    overhead: layer.overhead / PARTS_PER_LAYER,
    kvCopy: kvCopyLatency / PARTS_PER_LAYER + (layer.kvCopy - kvCopyLatency) * part,
  };
}

/** Bytes of RAM that a device holds under a plan that cuts tensors; nothing of it can be reclaimed. */
export interface CutMemory {
  /** Its share of all layers, and on the root the embedding and output matrices, once if they are tied. */
  readonly weights: number;
  /** Its share of the KV cache, with room for the reserved context, and the runtime's buffers. */
  readonly fixed: number;
}

/** The memory of a device that holds its share of every tensor. */
export function cutMemory(
  { share, isRoot }: CutDevice,
  { model, workload, runtime }: { readonly model: Model; readonly workload: Workload; readonly runtime: Runtime },
): CutMemory {
  const ends = model.output.bytes + (model.tiedEmbeddings ? 0 : model.embedding.bytes);
  return {
    weights: share * model.layers * model.layer.bytes + (isRoot ? ends : 0),
    fixed: share * model.layers * reservedKvBytes(model, workload) + runtime.cpuBufferBytes,
  };
}
