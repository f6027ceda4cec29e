import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { PassTokens } from '../../experts/routing.ts';
import { usualRouting } from '../../experts/usual-routing.ts';
import type { Cluster } from '../../hardware/cluster.ts';
import { type Device, readsAhead } from '../../hardware/device.ts';
import { diskReads } from '../../hardware/disk-reads.ts';
import { isVector } from '../../model/mix.ts';
import { type Model, readBytes } from '../../model/model.ts';
import type { Workload } from '../../model/workload.ts';
import { cachesExperts, type Plan, type Stage } from '../../plan/plan.ts';
import { type ExpertLayers, expertLayersOf } from '../../plan/validate-experts.ts';
import { stagesByDevice, windowsOf } from '../../plan/windows.ts';
import { type LayerSeconds, totalLayerSeconds } from '../layer-seconds.ts';
import {
  crossedBytes,
  crossedRanges,
  type DeviceLoad,
  fixedBytes,
  type LayerRange,
  loadOfStages,
  mappedBytes,
} from '../memory.ts';
import type { PassLoad } from '../mixed-pass.ts';
import { MEASURED_PAGE_RATES } from '../reclaim.ts';
import { costsOfPass, type DeviceCosts, type RingCosts } from '../ring-costs.ts';
import { DEFAULT_RUNTIME, type Runtime } from '../runtime.ts';
import { type Together, usedExperts } from '../used-experts.ts';
import type { ExpertsCase, PassSeconds } from './experts-case.ts';
import { PRESSURES } from './pressure.ts';

/** A device of a plan that caches and reads experts. */
export interface PlannedExperts {
  readonly device: string;
  readonly one: ExpertsCase;
  /** The model's layers whose experts it caches, in ascending order, and their places among the model's layers with experts. */
  readonly layers: readonly number[];
  readonly places: readonly number[];
  /** Popularity and recurrence that count where no routing is known. */
  readonly routing: ReturnType<typeof usualRouting>;
}

export interface PlannedExpertsCase {
  readonly plan: Plan;
  readonly cluster: Cluster;
  readonly model: Model;
  readonly workload: Workload;
  readonly runtime?: Runtime | undefined;
  /** Tokens of each text that a pass decodes: more than one where drafts are verified; 1 unless given. */
  readonly verifiedTokens?: number | undefined;
  /** A pass over tokens of several texts, in place of those. */
  readonly load?: PassLoad | undefined;
}

/** A page of macOS, which faults page by page, bytes. */
const MACOS_PAGE = 16 * 2 ** 10;

/**
 * How devices of a plan cache and read experts, those of a ring each in a memory of its own; none where no policy says it.
 * Layers on a GPU with memory of its own are always held.
 */
export function plannedExperts(asked: PlannedExpertsCase): PlannedExperts[] {
  const { plan, cluster } = asked;
  if (!cachesExperts(plan)) return [];
  return [...stagesByDevice(plan)].flatMap(([name, stages]) => {
    const policy = plan.weights[name]?.experts;
    const index = cluster.devices.findIndex((device) => device.name === name);
    return policy === undefined ? [] : (expertsOf(asked, { index, stages, policy }) ?? []);
  });
}

interface CachingDevice {
  /** Its place in the cluster. */
  readonly index: number;
  readonly stages: readonly Stage[];
  readonly policy: ExpertsPolicy;
}

/**
 * The few numbers of a plan's device (ExpertsCase): layers count as the mean layer, as in every formula, and what isn't in a
 * layer with experts is spread over those. What products of experts compute is divided from the rest as their bytes are.
 */
function expertsOf(asked: PlannedExpertsCase, { index, stages, policy }: CachingDevice): PlannedExperts | undefined {
  const { plan, cluster, model, workload, runtime = DEFAULT_RUNTIME, verifiedTokens = 1, load: mixed } = asked;
  const device = cluster.devices[index] as Device;
  const pass = mixed === undefined ? { texts: workload.batch, tokens: verifiedTokens } : tokensOfLoad(mixed);
  const costs = costsOfPass(cluster, model, workload, { runtime, verifiedTokens, load: mixed });
  const own = costs.devices[index] as DeviceCosts;
  const mapped = stages.filter(({ processor }) => processor === 'cpu' || own.unified);
  const crossed = own.unified ? [] : crossedRanges(stages);
  const layers = layersWithExperts(model, [...mapped, ...crossed]);
  const [first] = layers;
  if (first === undefined) return undefined;
  const shape = { ...expertLayersOf(model, first, first + 1), layers: layers.length };
  const mappedLayers = mapped.reduce((sum, { from, to }) => sum + to - from, 0);
  const routedBytes = mappedLayers * costs.routed.bytes + crossedBytes(costs, { crossed });
  const output = plan.output.device === device.name ? plan.output.processor : undefined;
  const load = loadOfStages(plan, stages, output);
  const windows = windowsOf({ stages: plan.stages }).filter((window) => window.device === device.name).length;
  const place = { stages, output, windows, device, index, shape, model };
  return {
    device: device.name,
    layers,
    places: placesOf(model, layers),
    routing: usualRouting(shape),
    one: {
      mixture: {
        ...shape,
        expertBytes: routedBytes / (shape.layers * shape.experts),
        readsPerExpert: policy.layout === 'packed' ? 1 : matricesOfExpert(model),
        denseBytes: mappedBytes(costs, own, load) - routedBytes,
      },
      pass,
      seconds: passSeconds({
        ...{ ...place, costs, tokens: pass.texts * pass.tokens },
        together: pass.tokens > 1 ? 'text' : 'texts',
      }),
      // Few predictions time a prompt.
      get prompt() {
        const costs = costsOfPass(cluster, model, workload, { runtime, phase: 'prefill' });
        return passSeconds({ ...place, costs, tokens: workload.batch * workload.promptTokens, together: 'text' });
      },
      memory: {
        available: own.available,
        buffers: fixedBytes(costs, own, load),
        dense: 'anonymous',
        pressure: PRESSURES[device.os],
        readAhead: readsAhead(own.kind) ? 'exact' : MACOS_PAGE,
        pageRates: readsAhead(own.kind) ? MEASURED_PAGE_RATES : undefined,
        // Copying reads and writes.
        copyRate: device.cpu.bandwidth / 2,
      },
      disk: diskReads(device.disk),
      policy,
    },
  };
}

/** All tokens of a pass as equal parts of its texts. */
function tokensOfLoad({ texts, generated, prompt }: PassLoad): PassTokens {
  return { texts: Math.max(1, Math.round(texts)), tokens: Math.max(1, Math.round((generated + prompt) / texts)) };
}

/** Layers with experts in some ranges, in ascending order. */
function layersWithExperts({ kinds }: Model, ranges: readonly LayerRange[]): number[] {
  const layers: number[] = [];
  for (const { from, to } of ranges)
    for (let layer = from; layer < to; layer++) if (kinds[layer]?.feedForward?.kind === 'experts') layers.push(layer);
  return layers.sort((one, other) => one - other);
}

/** The places of some layers among all with experts. @param layers in ascending order */
function placesOf(model: Model, layers: readonly number[]): number[] {
  let [place, before] = [0, 0];
  return layers.map((layer) => {
    place += expertLayersOf(model, before, layer).layers;
    before = layer;
    return place;
  });
}

/** Counts by their tensors: predictions of thousands of plans ask for them. */
const knownMatrices = new WeakMap<Model['tensors'], number>();

/** Matrices of an expert, which lie apart in a model's file. */
export function matricesOfExpert({ tensors }: Model): number {
  const known = knownMatrices.get(tensors);
  if (known !== undefined) return known;
  const first = tensors.find(({ experts }) => experts !== undefined);
  const own = tensors.filter((one) => one.experts !== undefined && one.layer === first?.layer && !isVector(one));
  knownMatrices.set(tensors, own.length);
  return own.length;
}

interface PassCase {
  readonly model: Model;
  /** The device's own, and its visits by a token. */
  readonly stages: readonly Stage[];
  readonly windows: number;
  /** The processor of the output layer, on the head. */
  readonly output: DeviceLoad['output'];
  readonly device: Device;
  readonly index: number;
  readonly shape: ExpertLayers;
  readonly costs: RingCosts;
  /** Tokens that go through a layer together. */
  readonly tokens: number;
  readonly together: Together;
}

function passSeconds(asked: PassCase): PassSeconds {
  const { model, stages, windows, output, device, index, shape, costs, tokens, together } = asked;
  const own = costs.devices[index] as DeviceCosts;
  const distinct = usedExperts(shape, tokens, together);
  const usedBytes = costs.routed.bytes * (shape.used / shape.experts);
  const share = usedBytes / readBytes(model.layer, 1);
  const sum = { layers: 0, experts: 0, other: 0 };
  for (const { processor, from, to, cpuExperts = 0 } of stages) {
    const crossed = cpuExperts > 0 ? own.crossed() : undefined;
    if (crossed !== undefined) {
      const { always, onGpu, onCpu, toCpu, toGpu } = crossed;
      const away = costs.experts.layers(from, from + cpuExperts);
      const alone = to - from - away;
      sum.layers += away * (totalLayerSeconds(always) + toCpu + toGpu);
      sum.experts += away * totalLayerSeconds(onCpu);
      sum.other += alone * totalLayerSeconds(always);
      sum.other += (costs.experts.layers(from, to) - away) * totalLayerSeconds(onGpu);
      continue;
    }
    const seconds = (processor === 'cpu' ? own.cpu : own.gpu) as LayerSeconds;
    const { bandwidth } = processor === 'gpu' && device.gpu !== undefined ? device.gpu : device.cpu;
    const layers = to - from;
    const total = seconds.compute + seconds.kvCopy + seconds.memory + seconds.overhead;
    if (processor === 'gpu' && !own.unified) {
      sum.other += layers * total;
      continue;
    }
    const expertSeconds = seconds.compute * share + (costs.routed.bytes * distinct) / shape.experts / bandwidth;
    sum.experts += layers * expertSeconds;
    sum.layers += layers * (total - expertSeconds);
  }
  const onGpu = stages.some(({ processor }) => processor === 'gpu');
  const outputs = { cpu: own.outputOnCpuTotal, gpu: own.outputOnGpuTotal };
  return {
    layer: sum.layers / shape.layers,
    expert: sum.experts / (shape.layers * distinct),
    other: sum.other + (output === undefined ? 0 : outputs[output]) + (onGpu ? windows * own.windowCopy : 0),
  };
}
