import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { GgufTensor } from '../../gguf/gguf.ts';
import { formatBytes } from '../../input/format.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MappedFile } from '../../kernels/matrix.ts';
import type { ModelPart } from '../../runtime/split/model-part.ts';
import { createGuesses } from '../../runtime/weights/expert-guesses.ts';
import { expertKernels } from '../../runtime/weights/expert-kernels.ts';
import { slotRange } from '../../runtime/weights/expert-room.ts';
import { type BroughtExperts, createExpertSlots, passingSlots } from '../../runtime/weights/expert-slots.ts';
import { createMappedExperts } from '../../runtime/weights/mapped-experts.ts';
import { pagesOf, type WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import { alwaysUsed } from '../../runtime/weights/matrices-of.ts';
import { planBudget } from '../../runtime/weights/memory-budget.ts';
import { expertMatrixBytes, type PlacedExperts } from '../../runtime/weights/placed-experts.ts';
import type { Linear } from '../../runtime/weights/transformer-weights.ts';
import type { WeightsPart } from '../../runtime/weights/weights-layout.ts';
import { createWeightsStream, type WeightsStream } from '../../runtime/weights/weights-stream.ts';
import type { WeightsReport, WindowAssignment } from '../wire/message.ts';
import type { LoadedPart } from './loaded-part.ts';
import { layersInRam, layersOf } from './memory.ts';

/** A device's layers while it reads their experts when tokens choose them, until `close`. */
export interface DeviceExperts {
  readonly part: ModelPart;
  readonly report: WeightsReport;
  /** Bytes of slots, of buffers for reading and of weights in its own memory, which can't be given back. */
  readonly bytes: number;
  /** Needs and reads since it was opened. */
  readonly reads: ExpertReads;
  close(): void;
}

export interface DeviceExpertsOptions {
  readonly loaded: LoadedPart;
  readonly policy: ExpertsPolicy;
  /** The device's windows in their order. */
  readonly windows: readonly Pick<WindowAssignment, 'from' | 'to' | 'onGpu'>[];
  /** Whether the output layer is in this device's memory too. */
  readonly hasOutput: boolean;
  /** Memory for weights and for reading them, bytes. */
  readonly room: number;
  /** `undefined`: nothing is recorded. */
  readonly recorder: WeightsRecorder | undefined;
}

/**
 * Opens the layers of a device's windows with a store of their experts, in memory that `close` frees: kernels of their
 * own, as for a GPU. As in a single process, what every token uses is read into memory of its own, in which the page
 * cache has no part. What is read ahead is of the device's next layer with experts, which may be in its next window:
 * other devices compute meanwhile.
 * @throws Error with a reason if the device can't cache experts so
 */
export function openDeviceExperts(options: DeviceExpertsOptions): DeviceExperts {
  const { loaded, recorder } = options;
  const fitted = fitExperts(options);
  const { policy, layers, used } = fitted;
  const kernels = loaded.kernels.again?.() as Kernels;
  try {
    let running: number | undefined;
    const brought = new Map<number, BroughtExperts['layers'] extends ReadonlyMap<number, infer One> ? One : never>();
    const weightsOf = (layer: number) => part.weightsOf(layer);
    const computing = expertKernels({
      ...{ kernels, running: () => running, experts: brought, hitsFirst: policy.hitsFirst },
      guess: (choice) => guess?.(choice),
    });
    const file = loaded.mapOn(kernels);
    const kept = openKept({ ...options, kernels, file });
    const part = loaded.partOn(computing, {
      beforeLayer(layer) {
        running = layer;
        kept.before(layer);
      },
      place: (tensor) => kept.place(tensor, 0),
    });
    for (const layer of layersOf(options.windows)) part.load(layer, layer + 1);
    const pages = pagesOf(kernels, file, { threads: policy.depth, cached: policy.method === 'pread' });
    const common = {
      ...{ pages, layers, recorder },
      productOf: (layer: number, role: PlacedExperts['matrices'][number]['role']) =>
        weightsOf(layer).products[role] as Linear,
    };
    const store =
      policy.slots === 'fit'
        ? createMappedExperts(common)
        : createExpertSlots({
            ...{ ...common, kernels, policy, slots: policy.slots, passing: passingSlots(policy, used) },
          });
    for (const [layer, own] of store.layers) brought.set(layer, own);
    const guess = createGuesses({ kernels, lookahead: policy.lookahead, layers: [...layers.keys()], weightsOf });
    return {
      part: waitingFor(kept, part),
      report: { policy: { prefetch: 'none', release: 'none', experts: policy }, bytes: fitted.weightsBytes },
      bytes: fitted.bytes,
      reads: store.counts,
      close: () => kernels.close(),
    };
  } catch (error) {
    kernels.close();
    throw error;
  }
}

interface KeptCase extends Pick<DeviceExpertsOptions, 'loaded' | 'windows' | 'hasOutput' | 'recorder'> {
  readonly kernels: Kernels;
  readonly file: MappedFile;
}

/** Weights that every token uses, in memory of their own. */
interface KeptWeights extends Pick<WeightsStream, 'place'> {
  /** Waits until those of a part are read, which each are once. */
  before(part: WeightsPart): void;
}

/** Reads what every token uses of a device's layers into memory. */
function openKept({ loaded, windows, hasOutput, recorder, kernels, file }: KeptCase): KeptWeights {
  const layers = keptMatrices(loaded, windows);
  const output = hasOutput ? loaded.matricesOf('output') : [];
  const fileBytes = file.size;
  const plan = planBudget({ budget: Number.POSITIVE_INFINITY, fixed: [], output, layers, fileBytes });
  const stream = createWeightsStream({ pages: pagesOf(kernels, file), fileBytes, plan, output, layers, recorder });
  const read = new Set<WeightsPart>();
  return {
    place: stream.place,
    before(part) {
      if (read.has(part)) return;
      read.add(part);
      stream.before(part);
    },
  };
}

/** Matrices by layer of the model that every token uses; none of layers of other devices. */
function keptMatrices({ part, matricesOf }: LoadedPart, windows: DeviceExpertsOptions['windows']): GgufTensor[][] {
  const own = new Set(layersOf(windows));
  return part.model.kinds.map((_, layer) => (own.has(layer) ? alwaysUsed(matricesOf(layer)) : []));
}

/** A part whose output layer, or an embedding that is also the output, is first waited for. */
function waitingFor(kept: KeptWeights, part: ModelPart): ModelPart {
  const after =
    <Values extends unknown[], Result>(which: 'embedding' | 'output', call: (...values: Values) => Result) =>
    (...values: Values): Result => {
      kept.before(which);
      return call(...values);
    };
  return {
    ...part,
    embed: after('embedding', part.embed),
    logits: after('output', part.logits),
    hidden: after('output', part.hidden),
    largestLogits: after('output', part.largestLogits),
  };
}

/** A policy whose slots are known, but for mapped experts, which have none. */
interface FittedExperts {
  readonly policy: ExpertsPolicy;
  /** Layers with experts, by index, in the order in which a token visits them. */
  readonly layers: ReadonlyMap<number, PlacedExperts>;
  /** Experts that a token uses in a layer. */
  readonly used: number;
  /** Bytes of its own memory that slots, buffers for reading and other weights take; all weights of the device. */
  readonly bytes: number;
  readonly weightsBytes: number;
}

/** @throws Error with a reason if a policy can't be carried out */
function fitExperts({ loaded, policy, windows, hasOutput, room }: DeviceExpertsOptions): FittedExperts {
  const { kinds } = loaded.part.model;
  const own = layersOf(windows);
  if (layersInRam(windows).length < own.length)
    throw new Error('experts are cached on a CPU alone, and the plan has layers for its GPU; place them on the CPU');
  if (policy.layout !== 'file')
    throw new Error(`experts in a layout "${policy.layout}" are read on one machine alone; use "file" in a ring`);
  if (loaded.kernels.again === undefined)
    throw new Error(`the ${loaded.kernels.name} kernels hold all experts in memory; native kernels are needed`);
  const layers = new Map(
    own.flatMap((layer) => {
      const placed = loaded.experts(layer);
      return placed === undefined ? [] : [[layer, placed] as const];
    }),
  );
  const placed = [...layers.values()];
  const routers = own.flatMap((layer) => {
    const { feedForward } = kinds[layer] ?? {};
    return feedForward?.kind === 'experts' ? [feedForward.router] : [];
  });
  if (routers.length === 0) throw new Error('its layers have no experts to cache');
  const used = Math.max(...routers.map((router) => router.used));
  const outputBytes = hasOutput ? loaded.bytesOf('output') : 0;
  const weightsBytes = own.reduce((sum, layer) => sum + loaded.bytesOf(layer), outputBytes);
  const always = weightsBytes - placed.reduce((sum, one) => sum + bytesOfExperts(one), 0);
  const found = { layers, used, weightsBytes };
  if (policy.method === 'mmap') {
    if (policy.slots !== 'fit') throw new Error('mapped experts have no slots; use "fit"');
    return { ...found, policy, bytes: always };
  }
  const { least, most, bytesOf } = slotRange({ policy, layers: placed, used, room: room - always });
  const slots = policy.slots === 'fit' ? wholeTokens(policy, most, used * placed.length) : policy.slots;
  if (slots >= least && slots <= most)
    return { ...found, policy: { ...policy, slots }, bytes: always + bytesOf(slots) };
  const whose = policy.pool === 'all' ? 'all its layers' : 'each layer';
  const asked = policy.slots === 'fit' ? `${least} are needed` : `${slots} are asked for`;
  const has = most < least ? `${Math.max(0, most)} have room` : `${least} to ${most} are possible`;
  throw new Error(
    `slots for experts of ${whose}: ${asked}, ${has} in ${formatBytes(Math.max(0, room))} next to ${formatBytes(always)} that every token uses; give it more memory or fewer layers`,
  );
}

/** The slots of one cache for all layers in whole multiples of those that a token uses: it gains in such steps. */
function wholeTokens({ pool, eviction }: ExpertsPolicy, most: number, token: number): number {
  const isInSteps = pool === 'all' && eviction !== 'pinned-hottest' && most >= token;
  return isInSteps ? most - (most % token) : most;
}

function bytesOfExperts({ experts, matrices }: PlacedExperts): number {
  return experts * matrices.reduce((sum, one) => sum + expertMatrixBytes(one), 0);
}
