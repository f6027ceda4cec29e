import { totalmem } from 'node:os';
import type { ExpertReads } from '../../experts/expert-reads.ts';
import { type ExpertsPolicy, USUAL_EXPERTS } from '../../experts/experts-policy.ts';
import type { Routing } from '../../experts/routing.ts';
import { withFile } from '../../gguf/file-source.ts';
import type { GgufTensor } from '../../gguf/gguf.ts';
import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { MappedFile } from '../../kernels/matrix.ts';
import type { ExpertMatrix } from '../../model/block/layer-weight.ts';
import type { Model } from '../../model/model.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import type { Rotations } from '../pass/rotations.ts';
import type { PassHooks } from '../pass/transformer.ts';
import { createGuesses } from '../weights/expert-guesses.ts';
import { expertKernels } from '../weights/expert-kernels.ts';
import { slotRange } from '../weights/expert-room.ts';
import { type BroughtExperts, createExpertSlots, passingSlots } from '../weights/expert-slots.ts';
import type { AccessObserver } from '../weights/layer-experts.ts';
import { createMappedExperts } from '../weights/mapped-experts.ts';
import { pagesOf } from '../weights/mapped-weights.ts';
import { alwaysUsed, matricesOf } from '../weights/matrices-of.ts';
import { type MemoryUse, planBudget } from '../weights/memory-budget.ts';
import { packedModelOf, placePacked, readPacked } from '../weights/packed-experts.ts';
import { placeTensors } from '../weights/place-tensors.ts';
import type { PlacedExperts } from '../weights/placed-experts.ts';
import { PROCESS_GROWTH_BYTES, processBytes } from '../weights/process-counters.ts';
import { routedLayers } from '../weights/routed-layers.ts';
import {
  type LayerWeights,
  type Linear,
  loadWeights,
  type Weights,
  type WeightsSource,
  weightsLoader,
} from '../weights/transformer-weights.ts';
import { weightsPartOf } from '../weights/weights-layout.ts';
import { createWeightsStream } from '../weights/weights-stream.ts';
import { activationsBytes } from './transformer-bytes.ts';

export interface BudgetedWeightsCase {
  readonly source: WeightsSource;
  readonly model: Model;
  readonly rotations: Rotations;
  readonly contextLength: number;
  /** Bytes of keys and values in memory. */
  readonly kvBytes: number;
  /** Memory limit of the process in bytes. */
  readonly budget: number;
  /** How the experts of a mixture are kept in memory and read; default: USUAL_EXPERTS. */
  readonly experts?: Partial<ExpertsPolicy> | undefined;
  /** A file of hearth pack-experts, from which slots are read. */
  readonly packedExperts?: string | undefined;
  /** Experts that tokens use in place of those that routers choose. */
  readonly routing?: Routing | undefined;
  /** Called with each access to experts, as it is made. */
  readonly onExperts?: AccessObserver | undefined;
  readonly recorder?: RunRecorder | undefined;
}

/** Weights within a memory budget, and the hooks that load them in time. */
export interface BudgetedWeights {
  readonly weights: Weights;
  readonly hooks: PassHooks;
  /** Kernels with which passes run: the given ones, or such that read experts first. */
  readonly kernels: Kernels;
  /** How experts are brought, and what was read so far, if they are read when tokens choose them. */
  readonly experts: ExpertsPlan | undefined;
  readonly expertReads: ExpertReads | undefined;
}

/**
 * Keeps as much of a model's weights in memory as fits into a budget next to everything else that the process needs,
 * and streams the rest: whole layers one after the other, or of a mixture, whose other weights stay, the experts that tokens
 * choose.
 * @throws InputError for a budget that is too small, and for kernels that don't map files
 */
export function budgetedWeights(options: BudgetedWeightsCase): BudgetedWeights {
  const { source, model, recorder } = options;
  const pages = pagesOf(source.kernels, source.file);
  const output = matricesOf(source.gguf, model, 'output');
  const all = model.kinds.map((_, layer) => matricesOf(source.gguf, model, layer));
  const fixed = fixedUses(options);
  const experts = planExperts(options, fixed, output, all);
  const layers = experts === undefined ? all : all.map(alwaysUsed);
  const plan = planBudget({ budget: options.budget, fixed, output, layers, fileBytes: source.file.size });
  const stream = createWeightsStream({ pages, fileBytes: source.file.size, plan, output, layers, recorder });
  const variants = ([0, 1] as const).map((variant) =>
    loadWeights({ ...source, place: (tensor) => stream.place(tensor, variant) }, model),
  ) as [Weights, Weights];
  let running: number | undefined;
  const weightsOf = (layer: number): LayerWeights => variants[0].layers[layer] as LayerWeights;
  const brought = experts && bringExperts(options, experts, weightsOf);
  const guess =
    experts &&
    createGuesses({
      ...{
        kernels: source.kernels,
        lookahead: experts.policy.lookahead,
        layers: [...experts.layers.keys()],
        weightsOf,
        routing: options.routing,
      },
    });
  return {
    experts,
    expertReads: brought?.counts,
    kernels:
      experts === undefined || brought === undefined
        ? source.kernels
        : expertKernels({
            ...{ kernels: source.kernels, running: () => running, experts: brought.layers, guess },
            hitsFirst: experts.policy.hitsFirst,
          }),
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

/** Memory that a process needs in addition to weights. */
function fixedUses({ model, rotations, contextLength, kvBytes, recorder }: BudgetedWeightsCase): MemoryUse[] {
  const process = { what: 'Node.js and its heap', bytes: processBytes() + PROCESS_GROWTH_BYTES };
  recorder?.sample('Node.js and its heap (bytes)', performance.now() / 1000, process.bytes);
  return [
    process,
    { what: `KV cache of ${contextLength} tokens`, bytes: kvBytes },
    { what: 'activations', bytes: activationsBytes(model, rotations, contextLength) },
  ];
}

/** How the experts of a mixture are brought into memory. */
export interface ExpertsPlan {
  readonly policy: ExpertsPolicy;
  /** By index of the layer. */
  readonly layers: ReadonlyMap<number, PlacedExperts>;
  /** Slots of each layer, or of all together; 0 for pages of the mapped file. */
  readonly slots: number;
  /** Experts that a token uses in a layer. */
  readonly used: number;
  /** The file in which they are. */
  readonly file: MappedFile;
}

function bringExperts(
  { source: { kernels }, onExperts: observe, recorder }: BudgetedWeightsCase,
  { policy, layers, slots, used, file }: ExpertsPlan,
  weightsOf: (layer: number) => LayerWeights,
): BroughtExperts {
  const pages = pagesOf(kernels, file, { threads: policy.depth, cached: policy.method === 'pread' });
  const productOf = (layer: number, role: ExpertMatrix): Linear => weightsOf(layer).products[role] as Linear;
  const common = { pages, layers, productOf, observe, recorder };
  if (policy.method === 'mmap') return createMappedExperts(common);
  return createExpertSlots({ ...common, kernels, policy, slots, passing: passingSlots(policy, used) });
}

/**
 * Slots for experts in what always-used weights leave of the budget, and of the memory that this process may have.
 * @returns `undefined` where all weights fit, or not even the experts of one token
 */
function planExperts(
  { budget, experts: asked = {}, packedExperts, source, model }: BudgetedWeightsCase,
  fixed: readonly MemoryUse[],
  output: readonly GgufTensor[],
  all: readonly (readonly GgufTensor[])[],
): ExpertsPlan | undefined {
  const inModel = routedLayers(model, weightsLoader(source, model));
  const used = Math.max(
    0,
    ...model.kinds.map(({ feedForward: own }) => (own?.kind === 'experts' ? own.router.used : 0)),
  );
  const [option] = packedExperts === undefined ? Object.keys(asked) : ['layout'];
  if (inModel.size === 0) {
    if (option === undefined) return undefined;
    throw new InputError(optionOf(option), `${model.name} has no experts; leave it out`);
  }
  const { layers, file } =
    packedExperts === undefined
      ? { layers: inModel, file: source.file }
      : openPacked(packedExperts, source, model, inModel);
  const layout = packedExperts === undefined ? 'file' : 'packed';
  if (asked.layout === 'packed' && layout === 'file')
    throw new InputError('--packed-experts', 'is missing; give the file of hearth pack-experts that is to be read');
  if (asked.method === 'mmap' && layout === 'packed')
    throw new InputError('--packed-experts', 'is for slots, and --expert-reads mmap has none; leave one out');
  const policy: ExpertsPolicy = { ...USUAL_EXPERTS, ...asked, layout };
  const bytesOf = (tensors: readonly GgufTensor[]): number => placeTensors(tensors, source.file.size).bytes;
  const sum = (values: readonly number[]): number => values.reduce((total, one) => total + one, 0);
  const kept = sum(fixed.map(({ bytes }) => bytes)) + bytesOf(output);
  if (policy.method === 'mmap') return { policy, layers, used, file, slots: 0 };
  const isFit = policy.slots === 'fit';
  if (isFit && kept + sum(all.map(bytesOf)) <= budget) return undefined;
  const placed = [...layers.values()];
  // Slots beyond what the system leaves would be hits that are read back from elsewhere.
  const memory = Math.min(budget, isFit ? availableMemory() : Number.POSITIVE_INFINITY);
  const room = memory - kept - sum(all.map((tensors) => bytesOf(alwaysUsed(tensors))));
  const { least: one, most } = slotRange({ policy, layers: placed, used, room });
  if (policy.slots !== 'fit') {
    if (policy.slots >= one && policy.slots <= most) return { policy, layers, slots: policy.slots, used, file };
    throw new InputError('--expert-slots', `${policy.slots} are asked for; ${one} to ${most} are possible here`);
  }
  // One cache for all layers hits nothing before it holds what a token uses in all of them.
  const least = policy.pool === 'all' ? one * layers.size : one;
  return most < least ? undefined : { policy, layers, slots: most, used, file };
}

/** Experts in a file of hearth pack-experts. @throws InputError for one that is malformed, or of another model */
function openPacked(
  path: string,
  { gguf, bytes, kernels }: WeightsSource,
  { name }: Model,
  layers: ReadonlyMap<number, PlacedExperts>,
) {
  const model = packedModelOf(name, gguf, bytes, layers);
  const placed = withFile(path, (packed) => placePacked(path, readPacked(packed), model, layers));
  return { layers: placed, file: kernels.mapFile(path) };
}

/** The option of `hearth generate` that asks for a part of a policy. */
function optionOf(part: string): string {
  if (part === 'layout') return '--packed-experts';
  return part === 'method' ? '--expert-reads' : part === 'hitsFirst' ? 'experts' : `--expert-${part}`;
}

/** Memory that this process may have, bytes: of the machine, or of its cgroup. */
function availableMemory(): number {
  return Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
}
