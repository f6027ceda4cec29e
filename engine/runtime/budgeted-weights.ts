import type { Eviction } from '../experts/unit-cache.ts';
import type { Gguf, GgufTensor } from '../gguf/gguf.ts';
import { InputError } from '../input/input-error.ts';
import type { Kernels } from '../kernels/kernels.ts';
import type { Model } from '../model/model.ts';
import type { RunRecorder } from '../trace/run-recorder.ts';
import type { Rotations } from './rotations.ts';
import { slottedKernels } from './slotted-kernels.ts';
import type { PassHooks } from './transformer.ts';
import { activationsBytes } from './transformer-bytes.ts';
import {
  type LayerWeights,
  type Linear,
  loadWeights,
  type Weights,
  type WeightsSource,
  weightsLoader,
} from './transformer-weights.ts';
import {
  createExpertSlots,
  type ExpertReads,
  type ExpertSlotsOptions,
  type PlacedExperts,
  readingBytes,
  slotBytes,
} from './weights/expert-slots.ts';
import { pagesOf } from './weights/mapped-weights.ts';
import { type MemoryUse, planBudget } from './weights/memory-budget.ts';
import { placeTensors } from './weights/place-tensors.ts';
import { PROCESS_GROWTH_BYTES, processBytes } from './weights/process-counters.ts';
import { weightsPartOf } from './weights/weights-layout.ts';
import { createWeightsStream } from './weights/weights-stream.ts';

export interface BudgetedWeightsCase {
  readonly source: WeightsSource;
  readonly model: Model;
  readonly rotations: Rotations;
  readonly contextLength: number;
  /** Bytes of keys and values in memory. */
  readonly kvBytes: number;
  /** Memory limit of the process in bytes. */
  readonly budget: number;
  readonly experts?: ExpertsPolicy | undefined;
  readonly recorder?: RunRecorder | undefined;
}

/** How the experts of a mixture are kept in memory. */
export interface ExpertsPolicy {
  /** Slots of each layer; default: as many as the budget has room for. */
  readonly slots?: number | undefined;
  /** Default: the least recently used leave. */
  readonly eviction?: Eviction | undefined;
}

/** Weights within a memory budget, and the hooks that load them in time. */
export interface BudgetedWeights {
  readonly weights: Weights;
  readonly hooks: PassHooks;
  /** Kernels with which passes run: the given ones, or such that read experts first. */
  readonly kernels: Kernels;
  /** Experts of each layer that stay, and what was read so far, if experts are read when tokens choose them. */
  readonly slots: number | undefined;
  readonly expertReads: ExpertReads | undefined;
}

/**
 * Keeps as much of a model's weights in memory as fits into a budget besides everything else that the process needs,
 * and streams the rest: whole layers one after the other, or of a mixture, whose other weights stay, the experts that tokens
 * choose.
 * @throws InputError for a budget that is too small, and for kernels that don't map files
 */
export function budgetedWeights(options: BudgetedWeightsCase): BudgetedWeights {
  const { source, model, recorder } = options;
  const pages = pagesOf(source.kernels, source.file);
  const [output, all] = matricesOf(source.gguf, model.layers, model.tiedEmbeddings);
  const fixed = fixedUses(options);
  const experts = planExperts(options, fixed, output, all);
  const layers = experts === undefined ? all : all.map(alwaysUsed);
  const plan = planBudget({ budget: options.budget, fixed, output, layers, fileBytes: source.file.size });
  const stream = createWeightsStream({ pages, fileBytes: source.file.size, plan, output, layers, recorder });
  const variants = ([0, 1] as const).map((variant) =>
    loadWeights({ ...source, place: (tensor) => stream.place(tensor, variant) }, model),
  ) as [Weights, Weights];
  let running: number | undefined;
  const slots =
    experts &&
    createExpertSlots({
      ...experts,
      eviction: options.experts?.eviction ?? { kind: 'lru' },
      ...{ kernels: source.kernels, pages, fileBytes: source.file.size, recorder },
      productOf: (layer, role) => (variants[0].layers[layer] as LayerWeights).products[role] as Linear,
    });
  const slotsOf = () => (running === undefined ? undefined : slots?.layers.get(running));
  return {
    slots: experts?.slots,
    expertReads: slots?.counts,
    kernels: slots === undefined ? source.kernels : slottedKernels(source.kernels, slotsOf),
    weights: {
      ...variants[0],
      get layers() {
        return variants[stream.variant].layers;
      },
    },
    hooks: {
      before(name) {
        const part = weightsPartOf(name);
        running = typeof part === 'number' ? part : undefined;
        stream.before(part);
      },
      after: ({ name }) => stream.after(weightsPartOf(name)),
    },
  };
}

/** Memory that a process needs besides weights. */
function fixedUses({ model, rotations, contextLength, kvBytes, recorder }: BudgetedWeightsCase): MemoryUse[] {
  const process = { what: 'Node.js and its heap', bytes: processBytes() + PROCESS_GROWTH_BYTES };
  recorder?.sample('Node.js and its heap (bytes)', performance.now() / 1000, process.bytes);
  return [
    process,
    { what: `KV cache of ${contextLength} tokens`, bytes: kvBytes },
    { what: 'activations', bytes: activationsBytes(model, rotations, contextLength) },
  ];
}

/** Matrices that every token uses. */
function alwaysUsed(matrices: readonly GgufTensor[]): GgufTensor[] {
  return matrices.filter(({ name }) => !/_exps\.weight$/.test(name));
}

/**
 * Slots for experts in what always-used weights leave of the budget.
 * @returns `undefined` where all weights fit, or not even the experts of one token
 */
function planExperts(
  { budget, experts: policy = {}, source, model }: BudgetedWeightsCase,
  fixed: readonly MemoryUse[],
  output: readonly GgufTensor[],
  all: readonly (readonly GgufTensor[])[],
): Pick<ExpertSlotsOptions, 'layers' | 'slots'> | undefined {
  const loader = weightsLoader(source, model);
  const layers = new Map<number, PlacedExperts>();
  let used = 0;
  for (const [layer, { feedForward }] of model.kinds.entries()) {
    if (feedForward?.kind !== 'experts') continue;
    used = Math.max(used, feedForward.router.used);
    layers.set(layer, { experts: feedForward.router.experts, matrices: loader.expertBytes(layer) });
  }
  if (layers.size === 0) {
    if (policy.slots !== undefined)
      throw new InputError('--expert-slots', `${model.name} has no experts; leave it out`);
    return undefined;
  }
  const bytesOf = (tensors: readonly GgufTensor[]): number => placeTensors(tensors, source.file.size).bytes;
  const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
  const kept = sum(fixed.map(({ bytes }) => bytes)) + bytesOf(output);
  if (policy.slots === undefined && kept + sum(all.map(bytesOf)) <= budget) return undefined;
  const room = budget - kept - sum(all.map((tensors) => bytesOf(alwaysUsed(tensors)))) - readingBytes(layers);
  const most = Math.min(Math.floor(room / slotBytes(layers)), ...[...layers.values()].map(({ experts }) => experts));
  const { slots = most } = policy;
  if (policy.slots !== undefined && (slots < used || slots > most))
    throw new InputError('--expert-slots', `${slots} are asked for; ${used} to ${most} are possible here`);
  return slots < used ? undefined : { layers, slots };
}

/** The matrices by output and layer. Vectors are small and read when the model is loaded. */
function matricesOf(gguf: Gguf, layers: number, tied: boolean): [output: GgufTensor[], layers: GgufTensor[][]] {
  const matrices = gguf.tensors.filter(({ shape }) => shape.length > 1).sort((a, b) => a.offset - b.offset);
  const output = matrices.filter(({ name }) => name === (tied ? 'token_embd.weight' : 'output.weight'));
  const ofLayer = (layer: number): GgufTensor[] => matrices.filter(({ name }) => name.startsWith(`blk.${layer}.`));
  return [output, Array.from({ length: layers }, (_, layer) => ofLayer(layer))];
}
