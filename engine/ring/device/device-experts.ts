import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import { formatBytes } from '../../input/format.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import { createGuesses } from '../../runtime/expert-guesses.ts';
import { expertKernels } from '../../runtime/expert-kernels.ts';
import type { ModelPart } from '../../runtime/model-part.ts';
import type { Linear } from '../../runtime/transformer-weights.ts';
import { slotRange } from '../../runtime/weights/expert-room.ts';
import { type BroughtExperts, createExpertSlots, passingSlots } from '../../runtime/weights/expert-slots.ts';
import { createMappedExperts } from '../../runtime/weights/mapped-experts.ts';
import { pagesOf, type WeightsRecorder } from '../../runtime/weights/mapped-weights.ts';
import { expertMatrixBytes, type PlacedExperts } from '../../runtime/weights/placed-experts.ts';
import type { WeightsReport, WindowAssignment } from '../wire/message.ts';
import type { LoadedPart } from './loaded-part.ts';
import { layersInRam, layersOf } from './memory.ts';

/** A device's layers while it reads their experts when tokens choose them, until `close`. */
export interface DeviceExperts {
  readonly part: ModelPart;
  readonly report: WeightsReport;
  /** Bytes of slots and of buffers for reading, which can't be given back. */
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
 * own, as for a GPU. Other weights of these layers stay mapped. What is read ahead is of the device's next layer with
 * experts, which may be in its next window: other devices compute meanwhile.
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
    const part = loaded.partOn(computing, (layer) => {
      running = layer;
    });
    for (const layer of layersOf(options.windows)) part.load(layer, layer + 1);
    const file = loaded.mapOn(kernels);
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
      part,
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

/** A policy whose slots are known, but for mapped experts, which have none. */
interface FittedExperts {
  readonly policy: ExpertsPolicy;
  /** Layers with experts, by index, in the order in which a token visits them. */
  readonly layers: ReadonlyMap<number, PlacedExperts>;
  /** Experts that a token uses in a layer. */
  readonly used: number;
  /** Bytes of the slots and of buffers for reading, and of all weights of the device. */
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
    return { ...found, policy, bytes: 0 };
  }
  const { least, most, bytesOf } = slotRange({ policy, layers: placed, used, room: room - always });
  const slots = policy.slots === 'fit' ? wholeTokens(policy, most, used * placed.length) : policy.slots;
  if (slots >= least && slots <= most) return { ...found, policy: { ...policy, slots }, bytes: bytesOf(slots) };
  const whose = policy.pool === 'all' ? 'all its layers' : 'each layer';
  const asked = policy.slots === 'fit' ? `${least} are needed` : `${slots} are asked for`;
  const has = most < least ? `${Math.max(0, most)} have room` : `${least} to ${most} are possible`;
  throw new Error(
    `slots for experts of ${whose}: ${asked}, ${has} in ${formatBytes(Math.max(0, room))} beside ${formatBytes(always)} that every token uses; give it more memory or fewer layers`,
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
