import { type KnownRouting, knownOfLayers } from '../experts/hit-rates.ts';
import type { Cluster } from '../hardware/cluster.ts';
import { isDiscrete, transferSeconds } from '../hardware/device.ts';
import { appendedBytes } from '../model/kept-bytes.ts';
import type { Model } from '../model/model.ts';
import type { Workload } from '../model/workload.ts';
import { chipPartitions, type FittedPlan, type Plan, type Stage } from '../plan/plan.ts';
import { NO_WEIGHTS_POLICY, pinnedBytesOf } from '../plan/weights-policy.ts';
import { relaysOf } from '../plan/windows.ts';
import {
  addSeconds,
  type Breakdown,
  type DeviceBreakdown,
  type Infeasibility,
  infeasibility,
  noSeconds,
  type Seconds,
  type StageBreakdown,
  totalSeconds,
} from './breakdown.ts';
import { plannedExperts } from './experts/case-of-plan.ts';
import { expertReads, type PredictedReads } from './experts/planned-reads.ts';
import { type KvPages, type KvPaging, kvPages } from './kv-pages.ts';
import type { LayerSeconds } from './layer-seconds.ts';
import { STREAMING_BUFFERS, streamedSeconds } from './layer-streaming.ts';
import {
  crossedRanges,
  type DeviceLoad,
  diskSeconds,
  fitWeights,
  gpuWeightBytes,
  type LayerRange,
  memoryUse,
} from './memory.ts';
import type { PassLoad } from './mixed-pass.ts';
import type { ReclaimPolicy } from './reclaim.ts';
import { costsOfPass, type DeviceCosts, hopSeconds, type RingCosts } from './ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from './runtime.ts';

/** Assumptions of a ring's prediction. */
export interface RingPredictionOptions {
  readonly reclaim?: ReclaimPolicy;
  readonly runtime?: Runtime;
  /**
   * Paging of the KV cache of GPU layers, for plans with `kvCache: host` and GPUs with their own memory: the GPU
   * keeps the pages that fit, and evicted ones are copied back for every token, slice by slice. By default the whole
   * cache is in RAM, and reading it from there takes no time, as in HELM's equations.
   */
  readonly paging?: KvPaging;
  /** `decode` (the default): the seconds of a token, TPOT; `prefill`: those of a whole prompt, TTFT. */
  readonly phase?: 'decode' | 'prefill';
  /** γ + 1 (speculation.ts): decode processes this many tokens in one pass, whose seconds are predicted; default 1. */
  readonly verifiedTokens?: number;
  /** Decode: the seconds of one pass over tokens of several texts (mixed-pass.ts), in place of a token's. */
  readonly pass?: PassLoad;
  /**
   * Whether reads of experts count, whose prediction takes longer than all else; default true. Without, seconds and bytes
   * lack them, and what fits is the same.
   */
  readonly readsExperts?: boolean;
  /** Known facts about the routing of a mixture whose experts a plan caches; usualRouting unless given. */
  readonly routing?: KnownRouting;
}

/** Running sums of a device's part of a plan. */
interface Tally {
  readonly index: number;
  readonly costs: DeviceCosts;
  readonly seconds: Seconds;
  cpuLayers: number;
  gpuLayers: number;
  windows: number;
  /** The GPU layers that are streamed, the number buffered at once, and whether the output layer is streamed. */
  streamed: { layers: number; buffers: number; output: boolean };
  /** GPU layers whose experts are on the CPU. */
  readonly crossed: LayerRange[];
}

/** The tallies of a plan's devices, in the order in which the plan names them. */
class Tallies {
  private readonly byName = new Map<string, Tally>();

  constructor(
    private readonly costs: RingCosts,
    private readonly indices: ReadonlyMap<string, number>,
  ) {}

  all(): Iterable<Tally> {
    return this.byName.values();
  }

  /** @throws RangeError if the cluster has no such device */
  of(device: string): Tally {
    const known = this.byName.get(device);
    if (known !== undefined) return known;
    const index = this.indices.get(device);
    const costs = index === undefined ? undefined : this.costs.devices[index];
    if (index === undefined || costs === undefined)
      throw new RangeError(`the plan names "${device}", which the cluster lacks`);
    const streamed = { layers: 0, buffers: 0, output: false };
    const tally = { index, costs, seconds: noSeconds(), cpuLayers: 0, gpuLayers: 0, windows: 0, streamed, crossed: [] };
    this.byName.set(device, tally);
    return tally;
  }
}

/**
 * Creates a predictor of TPOT by prima.cpp's Appendix A.3 (Eqs. 11–19): sums without overlap. Everything that depends
 * only on cluster, model and workload is evaluated once, so that a plan takes microseconds. Plans must be valid
 * (validatePlan). If a plan cuts operators between a chip's GPU and NPU, the cost of that chip's layers is evaluated
 * with the plan; otherwise `runtime.partitions` may say how they will be cut.
 */
export function createRingPredictor(
  cluster: Cluster,
  model: Model,
  workload: Workload,
  options: RingPredictionOptions = {},
): (plan: Plan) => Breakdown {
  const {
    reclaim = 'overflow',
    runtime = DEFAULT_RUNTIME,
    phase = 'decode',
    paging,
    verifiedTokens = 1,
    pass,
    readsExperts = true,
  } = options;
  const create = (runtime: Runtime): RingCosts =>
    costsOfPass(cluster, model, workload, { runtime, phase, verifiedTokens, load: pass });
  const costs = create(runtime);
  const indices = new Map(costs.devices.map((device, index) => [device.name, index]));
  const tokens = phase === 'prefill' ? workload.promptTokens : workload.context;
  const pagesOf = (plan: Plan, { gpuRoom, name }: DeviceCosts, layers: number): PredictedPages | undefined => {
    const gpu = cluster.devices[indices.get(name) ?? 0]?.gpu;
    if (paging === undefined || plan.kvCache !== 'host' || !isDiscrete(gpu) || layers === 0) return undefined;
    const tokenBytes = appendedBytes(model, workload.kvFormat) * workload.batch;
    const poolBytes = gpuRoom - gpuWeightBytes(plan, model, name);
    const pages = kvPages({ paging, layers, tokens, tokenBytes, poolBytes });
    return { ...pages, poolBytes, sliceSeconds: transferSeconds(gpu.hostLink, pages.sliceBytes) };
  };
  return (plan) => {
    const partitions = chipPartitions(plan);
    const own = partitions.size === 0 ? costs : create({ ...runtime, partitions });
    const experts = new Map(
      plannedExperts({ plan, cluster, model, workload, runtime, verifiedTokens, load: pass }).map((planned) => {
        const known = options.routing && knownOfLayers(options.routing, planned.places);
        const asked = readsExperts ? phase : 'fit';
        return [planned.device, expertReads(planned, asked, workload.batch * workload.promptTokens, known)];
      }),
    );
    return predictRing(fitWeights(plan, own), own, { indices, reclaim, pagesOf, phase, experts });
  };
}

interface PredictedPages extends KvPages {
  readonly poolBytes: number;
  /** Seconds to copy a slice back to the GPU. */
  readonly sliceSeconds: number;
}

interface PredictionParts {
  /** The index of each device by name. */
  readonly indices: ReadonlyMap<string, number>;
  readonly reclaim: ReclaimPolicy;
  readonly phase: 'decode' | 'prefill';
  readonly pagesOf: (plan: Plan, device: DeviceCosts, gpuLayers: number) => PredictedPages | undefined;
  /** Reads of experts by devices whose policies cache them. */
  readonly experts: ReadonlyMap<string, PredictedReads>;
}

function predictRing(plan: FittedPlan, costs: RingCosts, parts: PredictionParts): Breakdown {
  const { reclaim, phase, pagesOf } = parts;
  const tallies = new Tallies(costs, parts.indices);
  const head = tallies.of(plan.output.device);
  const stages = plan.stages.map((stage) => stageSeconds(stage, tallies.of(stage.device), costs));
  const outputCosts = plan.output.processor === 'gpu' ? head.costs.outputOnGpu : head.costs.outputOnCpu;
  if (outputCosts === undefined)
    throw new RangeError(`the plan puts the output layer on a GPU that "${head.costs.name}" lacks`);
  head.streamed.output = plan.output.streamed !== undefined;
  const output = {
    ...plan.output,
    layers: 0,
    output: true,
    mapped: 0,
    seconds: head.streamed.output
      ? streamedSeconds('in-turn', 1, outputCosts, { seconds: head.costs.outputCopy, oneQueue: head.costs.oneQueue })
      : withCauses(outputCosts, 1),
  };
  stages.push(output);
  addWindows({ plan, stages, output, head, tallies, parts, costs });
  for (const [index, stage] of [...plan.stages.entries()].reverse()) {
    const experts = crossedStage(stage, tallies.of(stage.device), costs);
    if (experts !== undefined) stages.splice(index + 1, 0, experts);
  }

  const infeasible: Infeasibility[] = [];
  const devices: DeviceBreakdown[] = [];
  for (const tally of tallies.all()) {
    const experts = parts.experts.get(tally.costs.name);
    const weights = plan.weights[tally.costs.name] ?? NO_WEIGHTS_POLICY;
    const pages = pagesOf(plan, tally.costs, tally.gpuLayers);
    if (pages !== undefined && phase === 'decode') addPageCopies(tally.costs, pages, stages);
    const load: DeviceLoad = {
      cpuLayers: tally.cpuLayers,
      gpuLayers: tally.gpuLayers,
      output: tally === head ? plan.output.processor : undefined,
      prefetches: weights.prefetch !== 'none',
      release: weights.release,
      pinnedBytes: pinnedBytesOf(weights),
      kvInRam: plan.kvCache === 'host',
      kvPages: pages,
      streamed: tally.streamed,
      ...(tally.crossed.length > 0 && { crossed: tally.crossed }),
    };
    const mapped = memoryUse(costs, tally.costs, load, reclaim);
    const use = experts === undefined ? mapped : { ...mapped, ...experts, reloaded: experts.bytes };
    const disk = experts?.seconds ?? diskSeconds(costs, tally.costs, load, use.reloaded);
    spreadDisk(tally.costs, disk, use.reloaded, stages);
    infeasible.push(...shortages(tally.costs, load, use));
    if (experts?.shortage !== undefined && infeasible.length === 0)
      infeasible.push(
        infeasibility(tally.costs.name, 'ram', `experts: ${experts.shortage};`, use.ram, tally.costs.available),
      );
    if (pages !== undefined && pages.gpuBytes > pages.poolBytes) {
      const needs = 'a page of the KV cache and what passes through';
      infeasible.push(infeasibility(tally.costs.name, 'vram', needs, pages.gpuBytes, Math.max(0, pages.poolBytes)));
    }
    devices.push({
      device: tally.costs.name,
      cpuLayers: tally.cpuLayers,
      gpuLayers: tally.gpuLayers,
      windows: tally.windows,
      seconds: tally.seconds,
      reloadedBytes: use.reloaded,
      ramBytes: use.ram,
      ramAvailable: tally.costs.available,
      vramBytes: use.vram,
      vramAvailable: tally.costs.gpuRoom,
      nonReclaimableBytes: use.nonReclaimable,
    });
  }
  const seconds = noSeconds();
  for (const stage of stages) addSeconds(tallies.of(stage.device).seconds, stage.seconds);
  for (const device of devices) addSeconds(seconds, device.seconds);
  const reloaded = devices.reduce((sum, device) => sum + device.reloadedBytes, 0);
  return { tokenSeconds: totalSeconds(seconds), infeasible, seconds, devices, stages, reloadedBytes: reloaded };
}

interface OpenStage extends StageBreakdown {
  readonly seconds: Seconds;
  /** Its weights that are mapped into RAM, in layers. */
  readonly mapped: number;
}

/** A stage on one processor; of layers whose experts are on the CPU, the GPU's part. */
function stageSeconds(stage: Stage, tally: Tally, { experts }: RingCosts): OpenStage {
  const layers = stage.to - stage.from;
  const perLayer = stage.processor === 'cpu' ? tally.costs.cpu : tally.costs.gpu;
  if (perLayer === undefined) throw new RangeError(`the plan runs layers on a GPU that "${stage.device}" lacks`);
  if (stage.processor === 'cpu') tally.cpuLayers += layers;
  else tally.gpuLayers += layers;
  const { streamed } = stage;
  if (streamed !== undefined) {
    tally.streamed.layers += layers;
    tally.streamed.buffers = Math.max(tally.streamed.buffers, STREAMING_BUFFERS[streamed]);
  }
  tally.crossed.push(...crossedRanges([stage]));
  const whole = {
    ...{ device: stage.device, processor: stage.processor, layers, output: false },
    mapped: stage.processor === 'cpu' || tally.costs.unified ? layers : 0,
  };
  if (streamed !== undefined) {
    const copy = { seconds: tally.costs.layerCopy, oneQueue: tally.costs.oneQueue };
    return { ...whole, seconds: streamedSeconds(streamed, layers, perLayer, copy) };
  }
  const crossed = stage.cpuExperts === undefined ? undefined : tally.costs.crossed();
  if (crossed === undefined || stage.cpuExperts === undefined)
    return { ...whole, seconds: withCauses(perLayer, layers) };
  const away = experts.layers(stage.from, stage.from + stage.cpuExperts);
  const seconds = withCauses(crossed.always, layers);
  addSeconds(seconds, withCauses(crossed.onGpu, experts.layers(stage.from, stage.to) - away));
  seconds.deviceCopy += away * crossed.toGpu;
  return { ...whole, seconds };
}

/** The CPU's part of a stage: experts of layers whose other weights are on the GPU; `undefined` where it has none. */
function crossedStage(
  { device, from, cpuExperts = 0 }: Stage,
  { costs }: Tally,
  { experts, layerBytes }: RingCosts,
): OpenStage | undefined {
  const crossed = cpuExperts === 0 ? undefined : costs.crossed();
  if (crossed === undefined) return undefined;
  const layers = experts.layers(from, from + cpuExperts);
  const seconds = withCauses(crossed.onCpu, layers);
  seconds.deviceCopy += layers * crossed.toCpu;
  return {
    ...{ device, processor: 'cpu', layers: 0, output: false, seconds },
    name: `experts of ${layers} layers`,
    mapped: costs.unified ? 0 : experts.bytes(from, from + cpuExperts) / layerBytes,
  };
}

function withCauses({ compute, kvCopy, memory, overhead }: LayerSeconds, times: number): Seconds {
  const seconds = noSeconds();
  seconds.compute = compute * times;
  seconds.kvCopy = kvCopy * times;
  seconds.memory = memory * times;
  seconds.overhead = overhead * times;
  return seconds;
}

interface RingWalk {
  readonly plan: Plan;
  readonly stages: readonly OpenStage[];
  readonly output: OpenStage;
  readonly head: Tally;
  readonly tallies: Tallies;
  readonly parts: PredictionParts;
  readonly costs: RingCosts;
}

/**
 * Adds, for each window, the copies to and from the GPU and the hop that sends its result on (Eqs. 13, 19). The last
 * window's result goes to the head. A head without layers forwards the result of every round. If the first window of a
 * plan made by hand isn't on the head, the embedded token is sent there first. Hops over relays count with the stage
 * whose result they forward.
 */
function addWindows(walk: RingWalk): void {
  const { stages, output, head, tallies, costs } = walk;
  const plan = walk.plan.stages;
  const ways = { relays: relaysOf(walk.plan), indices: walk.parts.indices };
  const first = plan[0]?.device;
  if (first === undefined) return;
  const headHoldsLayers = plan.some((stage) => stage.device === head.costs.name);
  for (let index = 0; index < plan.length; index++) {
    const stage = plan[index] as Stage;
    const next = plan[index + 1]?.device;
    if (next === stage.device) continue;
    const { seconds } = stages[index] as OpenStage;
    const tally = tallies.of(stage.device);
    tally.windows += 1;
    seconds.deviceCopy += tally.costs.windowCopy;
    const toHead = next === undefined || (!headHoldsLayers && next === first);
    seconds.link += hopSeconds(costs, ways, stage.device, toHead ? head.costs.name : next);
    if (toHead && !headHoldsLayers) output.seconds.link += hopSeconds(costs, ways, head.costs.name, first);
  }
  if (headHoldsLayers) output.seconds.link += hopSeconds(costs, ways, head.costs.name, first); // 0 where the head is first
}

/**
 * Divides a device's disk time among the stages whose weights are mapped, in proportion to these. The head's embedding
 * lookup counts with the output layer.
 */
function spreadDisk({ name }: DeviceCosts, seconds: number, reloaded: number, stages: readonly OpenStage[]): void {
  if (seconds === 0) return;
  const own = stages.filter(({ device }) => device === name);
  const mapped = own.reduce((sum, stage) => sum + stage.mapped, 0);
  for (const stage of own) {
    if (reloaded === 0 || mapped === 0) {
      if (stage.output) stage.seconds.disk += seconds;
    } else if (stage.mapped > 0) {
      stage.seconds.disk += (seconds * stage.mapped) / mapped;
    }
  }
}

/** Adds copying all evicted pages back, once per layer, without overlap with computing. */
function addPageCopies(
  device: DeviceCosts,
  { evicted, sliceSeconds }: PredictedPages,
  stages: readonly OpenStage[],
): void {
  for (const { device: name, processor, layers, seconds } of stages) {
    if (name === device.name && processor === 'gpu') seconds.deviceCopy += layers * evicted * sliceSeconds;
  }
}

function shortages(device: DeviceCosts, load: DeviceLoad, use: ReturnType<typeof memoryUse>): Infeasibility[] {
  const found: Infeasibility[] = [];
  const usesGpu = load.gpuLayers > 0 || load.output === 'gpu';
  if (usesGpu && load.kvPages === undefined && use.vram > device.gpuRoom)
    found.push(infeasibility(device.name, 'vram', 'layers on the GPU', use.vram, device.gpuRoom));
  if (use.nonReclaimable <= device.available) return found;
  const weights = load.streamed?.layers ? 'streamed' : load.pinnedBytes ? 'pinned' : undefined;
  const what = weights === undefined ? 'KV cache and buffers' : `KV cache, buffers and ${weights} weights`;
  found.push(infeasibility(device.name, 'ram', what, use.nonReclaimable, device.available));
  return found;
}
