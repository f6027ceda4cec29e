import type { SlowestDevice } from '../experts/held-counts.ts';
import { drawnCounts, independentDraws, slowestDevices } from '../experts/held-counts.ts';
import type { KnownRouting } from '../experts/hit-rates.ts';
import { sharesOf } from '../experts/working-set.ts';
import type { Cluster } from '../hardware/cluster.ts';
import type { Device } from '../hardware/device.ts';
import { InputError } from '../input/input-error.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import type { ExpertParallelPlan } from '../plan/plan.ts';
import { type ExpertLayers, expertLayersOf } from '../plan/validate-experts.ts';
import {
  addSeconds,
  type Breakdown,
  type DeviceBreakdown,
  infeasibility,
  noSeconds,
  type Seconds,
  type StageBreakdown,
  totalSeconds,
} from './breakdown.ts';
import { withoutExperts } from './crossed-experts.ts';
import {
  type ExpertDevice,
  expertDevices,
  expertLinkSeconds,
  type HeldLoad,
  heldExpertSeconds,
  heldMemory,
} from './held-experts.ts';
import { layerSeconds } from './layer-seconds.ts';
import { createRingCosts, type DeviceCosts } from './ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from './runtime.ts';

export interface ExpertParallelOptions {
  readonly runtime?: Runtime;
  /** The experts that tokens use; by default all of a layer equally often. Only popularity counts. */
  readonly routing?: KnownRouting | undefined;
}

/**
 * Creates a predictor of TPOT for plans that divide experts among devices (source: ours). A layer takes
 *
 *   dense + E( max over devices d of [n(d) > 0 and d ≠ head] (2 latencies + bytes(d) / bandwidth) + seconds(d, n(d)) )
 *
 * where n(d) is the number of its experts that the layer's tokens chose. For one token they add up to k: experts are drawn
 * independently with the odds that give each its popularity, given that k are drawn (held-counts.ts), which is exact for a
 * layer whose choices depend on each other no more than through their number. For a batch of texts n(d) counts different
 * experts, 1 − (1 − popularity)^batch each, and devices are independent of each other, with as many tokens for each expert.
 *
 * The head's messages to several devices are taken to be on their way at the same time; contention is left to the simulator.
 * Seconds of devices and stages are those on the critical path in the mean, so that they add up to those of the token. Nothing
 * is read from disk: the plan is infeasible if a device's part exceeds its memory.
 */
export function createExpertParallelPredictor(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  { runtime = DEFAULT_RUNTIME, routing }: ExpertParallelOptions = {},
): (plan: ExpertParallelPlan) => Breakdown {
  const costs = createRingCosts(cluster, model, workload, runtime);
  const layers = expertLayersOf(model, 0, model.layers);
  const shares = routing && sharesOfRouting(routing, layers);
  const { batch } = workload;
  return (plan) => {
    const devices = expertDevices(plan, cluster).map((own): Member => {
      const device = cluster.devices[own.index] as Device;
      const { kind, available } = costs.devices[own.index] as DeviceCosts;
      return { ...own, cpu: device.cpu, available: kind === 'android' ? available : device.memory.available };
    });
    const [head] = devices as [Member, ...Member[]];
    const rowBytes = runtime.activationBytes * model.hiddenSize;
    /** Seconds of a device whose experts are this many in a layer, each with as many choices. */
    const partOf = (member: Member, load: HeldLoad): Seconds => ({
      ...noSeconds(),
      ...heldExpertSeconds(model, load, member),
      link: expertLinkSeconds(load, { cluster, head: head.index, device: member.index, rowBytes }),
    });
    const critical = devices.map(noSeconds);
    const known = new Map<string, Seconds[]>();
    for (let layer = 0; layer < layers.layers; layer++) {
      const key = shares === undefined ? devices.map(({ experts }) => experts[layer]?.length).join() : undefined;
      const parts = (key && known.get(key)) || layerParts(devices, { layer, layers, batch, shares, partOf });
      if (key !== undefined) known.set(key, parts);
      for (const [index, part] of parts.entries()) addSeconds(critical[index] as Seconds, part);
    }
    const dense = noSeconds();
    const always = { ...noSeconds(), ...layerSeconds(withoutExperts(model), workload, head.cpu) };
    for (let layer = 0; layer < model.layers; layer++) addSeconds(dense, always);
    const output = { ...noSeconds(), ...(costs.devices[head.index] as DeviceCosts).outputOnCpu };
    return breakdown(plan, devices, { model, workload, runtime, dense, critical, output });
  };
}

interface Member extends ExpertDevice {
  readonly cpu: Device['cpu'];
  /** Available RAM, bytes. */
  readonly available: number;
}

/**
 * The probability that a token uses each expert of each layer: [layers][experts].
 * @throws InputError for a routing of other layers or experts than the model's
 */
export function sharesOfRouting(known: KnownRouting, { layers, experts }: ExpertLayers): readonly ArrayLike<number>[] {
  const shares = known.kind === 'recorded' ? sharesOf(known.routing) : known.shares;
  const other = shares.find((own) => own.length !== experts);
  if (shares.length === layers && other === undefined) return shares;
  throw new InputError(
    'routing',
    `has ${shares.length} layers of ${other?.length ?? experts} experts; the model has ${layers} of ${experts}`,
  );
}

interface LayerCase {
  /** Place of the layer among those with experts. */
  readonly layer: number;
  readonly layers: ExpertLayers;
  readonly batch: number;
  readonly shares: readonly ArrayLike<number>[] | undefined;
  readonly partOf: (member: Member, load: HeldLoad) => Seconds;
}

/** Seconds by which each device makes a layer's critical path longer, in the mean. */
function layerParts(
  devices: readonly Member[],
  { layer, layers: { experts, used }, batch, shares, partOf }: LayerCase,
): Seconds[] {
  const share = shares?.[layer] ?? new Float64Array(experts).fill(used / experts);
  const draws = batch === 1 ? independentDraws(share, used) : Float64Array.from(share, (one) => 1 - (1 - one) ** batch);
  const loads = devices.map(({ experts: own }) => loadsOf(own[layer] ?? [], { share, draws, batch, used }));
  const parts = devices.map((member, index) => (loads[index] as DeviceLoads).loads.map((load) => partOf(member, load)));
  const partAt = ({ device, count }: Pick<SlowestDevice, 'device' | 'count'>): Seconds =>
    (parts[device] as Seconds[])[count] as Seconds;
  const slowest = slowestDevices({
    counts: loads.map(({ counts }) => counts),
    total: batch === 1 ? used : undefined,
    secondsOf: (device, count) => totalSeconds(partAt({ device, count })),
  });
  const sums = devices.map(noSeconds);
  for (const one of slowest) {
    const part = partAt(one);
    for (const cause of Object.keys(part) as (keyof Seconds)[])
      (sums[one.device] as Seconds)[cause] += one.probability * part[cause];
  }
  return sums;
}

interface DeviceLoads {
  /** How likely 0, 1, … of its experts are chosen. */
  readonly counts: Float64Array;
  /** Its work then, by the same count. */
  readonly loads: readonly HeldLoad[];
}

function loadsOf(
  own: readonly number[],
  { share, draws, batch, used }: { share: ArrayLike<number>; draws: Float64Array; batch: number; used: number },
): DeviceLoads {
  const counts = drawnCounts(
    own.map((expert) => draws[expert] as number),
    batch === 1 ? used : own.length,
  );
  const sumOf = (values: ArrayLike<number>): number => own.reduce((sum, expert) => sum + (values[expert] as number), 0);
  const choicesOfEach = batch === 1 ? 1 : (batch * sumOf(share)) / Math.max(Number.MIN_VALUE, sumOf(draws));
  const unused = own.reduce((product, expert) => product * (1 - (share[expert] as number)), 1);
  const rows = Math.max(1, batch * (1 - unused));
  const loads = Array.from(counts, (_, experts) => ({
    ...{ experts, rows: experts === 0 ? 0 : rows, choices: experts * Math.max(1, choicesOfEach) },
    phase: 'decode' as const,
  }));
  return { counts, loads: batch === 1 ? loads.map((load) => ({ ...load, rows: Math.min(1, load.experts) })) : loads };
}

interface BreakdownParts {
  readonly model: Model;
  readonly workload: Workload;
  readonly runtime: Runtime;
  readonly dense: Seconds;
  readonly critical: readonly Seconds[];
  readonly output: Seconds;
}

function breakdown(
  plan: ExpertParallelPlan,
  members: readonly Member[],
  { model, workload, runtime, dense, critical, output }: BreakdownParts,
): Breakdown {
  const { layers } = model;
  const head = plan.embedding.device;
  const stage = { processor: 'cpu', layers: 0, output: false } as const;
  const stages: StageBreakdown[] = [
    { ...stage, device: head, layers, name: `layers 0–${layers - 1} without experts`, seconds: dense },
    ...members.flatMap(({ device, experts }, index) => {
      const held = experts.reduce((sum, own) => sum + own.length, 0);
      if (held === 0) return [];
      return [{ ...stage, device, name: `${held} experts`, seconds: critical[index] as Seconds }];
    }),
    { ...plan.output, layers: 0, output: true, seconds: output },
  ];
  const devices = members.map((member, index): DeviceBreakdown => {
    const { weights, fixed } = heldMemory(member, { model, workload, runtime });
    const seconds = noSeconds();
    for (const part of [critical[index] as Seconds, ...(member.isHead ? [dense, output] : [])])
      addSeconds(seconds, part);
    return {
      device: member.device,
      cpuLayers: member.isHead ? layers : 0,
      gpuLayers: 0,
      windows: member.isHead ? 1 : member.experts.filter((own) => own.length > 0).length,
      seconds,
      reloadedBytes: 0,
      ramBytes: weights + fixed,
      ramAvailable: member.available,
      vramBytes: 0,
      vramAvailable: 0,
      nonReclaimableBytes: weights + fixed,
    };
  });
  const seconds = noSeconds();
  for (const device of devices) addSeconds(seconds, device.seconds);
  const infeasible = devices.flatMap(({ device, ramBytes, ramAvailable }) =>
    ramBytes <= ramAvailable
      ? []
      : [infeasibility(device, 'ram', 'its experts, all else that it holds, and buffers', ramBytes, ramAvailable)],
  );
  return { tokenSeconds: totalSeconds(seconds), infeasible, seconds, devices, stages, reloadedBytes: 0 };
}
