import { totalmem } from 'node:os';
import type { ExpertReads } from '../../experts/expert-reads.ts';
import type { ExpertsPolicy } from '../../experts/experts-policy.ts';
import type { Routing } from '../../experts/routing.ts';
import { withFile } from '../../gguf/file-source.ts';
import type { Gguf } from '../../gguf/gguf.ts';
import { modelFromGguf } from '../../gguf/model-from-gguf.ts';
import { readGguf } from '../../gguf/read-gguf.ts';
import { type TransformerSettings, transformerSettings } from '../../gguf/transformer-settings.ts';
import { formatBytes } from '../../input/format.ts';
import { InputError } from '../../input/input-error.ts';
import type { Kernels } from '../../kernels/kernels.ts';
import type { CachePlace } from '../../kernels/key-value-cache.ts';
import { checkKvFormat, DEFAULT_KV_FORMAT, type KvFormat } from '../../model/kv-format.ts';
import type { Model } from '../../model/model.ts';
import type { FittedPolicy } from '../../plan/weights-policy.ts';
import type { RunRecorder } from '../../trace/run-recorder.ts';
import { createLayerStates } from '../kv/layer-states.ts';
import { createPagedCache } from '../kv/paged-cache.ts';
import { type PagesPlan, planPages, poolPlan } from '../kv/plan-pages.ts';
import { commonSlice, type SliceShape, sliceShapes } from '../kv/slice-shapes.ts';
import { noNumbers } from '../observed/no-numbers.ts';
import { replayedRoutes } from '../observed/replayed-routes.ts';
import { type ContextCache, contextOf, pagedCache } from '../pass/context-cache.ts';
import { BATCH_TOKENS, createPasses, type Passes } from '../pass/passes.ts';
import { createPredictionBlock } from '../pass/prediction-block.ts';
import { readRotations } from '../pass/rotations.ts';
import { createStateHistory } from '../pass/state-history.ts';
import { type PartTime, type PassHooks, type Transformer, VERIFIED_TOKENS } from '../pass/transformer.ts';
import { createTransformer, type TransformerParts } from '../texts/create-transformer.ts';
import { createLayerPages } from '../texts/layer-pages.ts';
import { createSequences, type Sequences } from '../texts/sequences.ts';
import { createTexts, type Texts } from '../texts/texts.ts';
import type { AccessObserver } from '../weights/layer-experts.ts';
import { mappedWeights } from '../weights/mapped-weights.ts';
import { loadWeights, type WeightsSource } from '../weights/transformer-weights.ts';
import { weightsLayout } from '../weights/weights-layout.ts';
import { createWindowWeights, equalWindows, windowHooks } from '../weights/window-weights.ts';
import { budgetedWeights, type ExpertsPlan } from './budgeted-weights.ts';
import { kvCacheBytes, kvCachesBytes } from './transformer-bytes.ts';

/** How a model is loaded and run. */
export interface LoadOptions {
  /** The file's header, if it has been read already. */
  readonly gguf?: Gguf;
  /** The kernels that compute; the model's memory lasts until they are closed. */
  readonly kernels: Kernels;
  /** Tokens that the KV cache holds. Default: the length that the model was trained for, at most 4096. */
  readonly context?: number;
  /** Default: F16, as in llama.cpp. */
  readonly kvCache?: KvFormat;
  /** Called after each part of a forward pass. Parts then run one by one, which costs some microseconds each. */
  readonly onPart?: (part: PartTime) => void;
  /**
   * Memory limit of the process in bytes: the part of a model that doesn't fit is streamed from disk. Default: weights
   * are mapped, and the operating system keeps as much of them as fits.
   */
  readonly memory?: number | undefined;
  /** How the experts of a mixture are kept in memory and read, with `memory`, with `slots`, or with `mmap` as its method. */
  readonly experts?: Partial<ExpertsPolicy> | undefined;
  /** A file of hearth pack-experts, from which slots are read in place of the model's file. */
  readonly packedExperts?: string | undefined;
  /** Called with each access to experts that are read when tokens choose them. */
  readonly onExperts?: AccessObserver | undefined;
  /** Keeps keys and values in pages, partly in memory (HELM 4.2.2). Default: all are in memory in one piece. */
  readonly paging?: KvPaging | undefined;
  /** Policy for mapped weights; excludes `memory`. Default: they are left to the operating system. */
  readonly policy?: { readonly weights: FittedPolicy; readonly windowLayers: number };
  /** Experts that tokens use in place of those that routers choose, for kernels on a CPU (replayedRoutes). */
  readonly routing?: Routing | undefined;
  /**
   * Whether the model's own block that guesses at further tokens is loaded with it (Transformer.prediction). Excludes
   * `memory`, `experts` and `policy`. Default: false.
   */
  readonly predicts?: boolean;
  /** Records computations, and the reads of a budget or policy. */
  readonly recorder?: RunRecorder | undefined;
  /** Called with each warning. Default: writes to stderr. */
  readonly warn?: (line: string) => void;
}

/** Memory for keys and values of texts that are served together, in pages. */
export interface KvPaging {
  /** Bytes of memory for keys and values. */
  readonly memory: number;
  readonly pageTokens: number;
  /** Folder for the file of evicted pages. */
  readonly folder: string;
}

/** Enough for a conversation; a cache for the trained length of newer models (131,072) would fill a laptop's RAM. */
const USUAL_CONTEXT = 4096;

/**
 * Loads a model: reads and checks its header, reads its vectors and leaves its matrices in the file.
 * @throws InputError for files that can't be read, are not GGUF, or have unsupported contents, as modelFromGguf and
 * readRotations do; for a context whose cache doesn't fit into memory
 */
export function loadTransformer(path: string, options: LoadOptions): Transformer {
  const { kernels, kvCache: type = DEFAULT_KV_FORMAT, paging, recorder } = options;
  const pagesOfModel = (model: Model, context: number): PagesPlan | undefined =>
    paging && pagesOf(paging, model, context, type);
  const kvBytes = (model: Model, context: number): number =>
    pagesOfModel(model, context)?.bytes ?? kvCachesBytes(model, context, type);
  const { model, settings, contextLength, passes, expertReads, predicting } = loadPasses(path, options, kvBytes);
  const plan = pagesOfModel(model, contextLength);
  const place = onDisk(paging?.folder ?? '');
  const cache =
    plan === undefined
      ? contextOf(kernels, model, { capacity: contextLength, type })
      : pagedCache(
          createPagedCache({ kernels, plan, shapes: allSlices(model, type), place, recorder }),
          0,
          createLayerStates(kernels, model, { from: 0, to: model.layers }),
        );
  return createTransformer({ model, settings, contextLength, passes, cache, expertReads, predicting });
}

export interface SequencesLoadOptions extends Omit<LoadOptions, 'paging' | 'predicts'> {
  /** Pages that sequences share, each of `pageTokens` tokens in all layers. */
  readonly pages: number;
  readonly pageTokens: number;
  /** Folder for the files of evicted pages. */
  readonly folder: string;
}

/**
 * Loads a model that evaluates several sequences together.
 * @throws InputError as loadTransformer does
 */
export function loadSequences(path: string, options: SequencesLoadOptions): Sequences {
  const { kernels, kvCache: type = DEFAULT_KV_FORMAT, recorder, pages, pageTokens, folder } = options;
  const planOf = (model: Model): PagesPlan => poolPlan({ shapes: allSlices(model, type), pages, pageTokens });
  const { model, contextLength, passes, expertReads } = loadPasses(path, options, (loaded) => planOf(loaded).bytes);
  const plan = planOf(model);
  const stage = createLayerPages({ kernels, shape: model, type, firstLayer: 0, plan, place: onDisk(folder), recorder });
  return createSequences({
    ...{ model, contextLength, plan, expertReads },
    mostTokens: passes.mostTokens,
    stages: [stage],
    run: (work) => passes.run(work.map(({ caches, ...rest }) => ({ ...rest, cache: caches[0] as ContextCache }))),
  });
}

export interface TextsLoadOptions extends Pick<LoadOptions, 'kernels' | 'context' | 'kvCache' | 'warn'> {
  /** Texts that have memory at the same time. */
  readonly texts: number;
}

/**
 * Loads a small model that continues several texts.
 * @throws InputError as loadTransformer does
 */
export function loadTexts(path: string, { texts, ...options }: TextsLoadOptions): Texts {
  const { kernels, kvCache: type = DEFAULT_KV_FORMAT } = options;
  const kvBytes = (model: Model, context: number): number => texts * kvCachesBytes(model, context, type);
  const { model, contextLength, passes } = loadPasses(path, options, kvBytes);
  const newCache = (): ContextCache => contextOf(kernels, model, { capacity: contextLength, type });
  return createTexts({ model, contextLength, passes, most: texts, newCache });
}

function allSlices(model: Model, type: KvFormat): readonly SliceShape[] {
  return sliceShapes(model, type, { from: 0, to: model.layers });
}

/** Kernels in RAM evict to a file alone. */
const onDisk = (folder: string): CachePlace => ({ folder, ram: 0 });

interface LoadedPasses {
  readonly model: Model;
  readonly settings: TransformerSettings;
  readonly contextLength: number;
  readonly passes: Passes;
  readonly expertReads: ExpertReads | undefined;
  readonly predicting: TransformerParts['predicting'];
}

/** @param kvBytes bytes of memory for keys and values in a model with a context of this length */
function loadPasses(
  path: string,
  options: Omit<LoadOptions, 'paging'>,
  kvBytesOf: (model: Model, context: number) => number,
): LoadedPasses {
  const { kvCache = DEFAULT_KV_FORMAT, memory, experts, packedExperts, onExperts, recorder, routing } = options;
  const kernels = routing === undefined ? options.kernels : replayedRoutes(options.kernels, routing);
  const { warn = (line) => process.stderr.write(`${line}\n`) } = options;
  return withFile(path, (bytes) => {
    const gguf = options.gguf ?? readGguf(bytes);
    const model = modelFromGguf(gguf);
    const settings = transformerSettings(gguf, model);
    checkKvFormat(model, kvCache);
    const contextLength = options.context ?? Math.min(settings.contextLength, USUAL_CONTEXT);
    const rotations = readRotations(gguf, bytes, model, contextLength);
    const kvBytes = kvBytesOf(model, contextLength);
    checkContext(contextLength, kvBytes);
    const trained = settings.contextLength;
    if (contextLength > trained)
      warn(
        `${path}: a context of ${contextLength} tokens; the model was trained for ${trained}, and longer texts are unreliable`,
      );
    const source = { gguf, bytes, file: kernels.mapFile(path), kernels };
    const parts = { source, model, rotations, contextLength, kvBytes };
    const isBrought = typeof experts?.slots === 'number' || experts?.method === 'mmap';
    const budget = memory ?? (isBrought ? Number.POSITIVE_INFINITY : undefined);
    const {
      weights,
      hooks: own,
      kernels: computing,
      experts: plan,
      expertReads,
    } = budget === undefined
      ? { weights: loadWeights(source, model), hooks: mappedHooks(source, model, options), kernels, ...ALL_MAPPED }
      : budgetedWeights({ ...parts, budget, experts, packedExperts, onExperts, routing, recorder });
    if (plan !== undefined) warn(`${path}: ${describeExperts(plan)}; others are read when tokens choose them`);
    const hooks = [...(own === undefined ? [] : [own]), ...listeners(options)];
    const mostTokens = Math.min(BATCH_TOKENS, contextLength);
    const states = options.predicts ? createStateHistory(model.hiddenSize, contextLength) : undefined;
    const common = { model, settings, rotations, weights, kernels: computing, hooks, mostTokens, states };
    const passes = createPasses({ ...common, noNumbers: () => noNumbers(path) });
    const predicting = states && {
      states,
      // Drafted tokens go beyond the text.
      prediction: createPredictionBlock({
        ...{ source, model, settings, rotations, kvCache, states },
        contextLength: contextLength + VERIFIED_TOKENS,
      }),
    };
    return { model, settings, contextLength, passes, expertReads, predicting };
  });
}

const ALL_MAPPED = { experts: undefined, expertReads: undefined };

function describeExperts({ policy: { pool, method }, slots, layers }: ExpertsPlan): string {
  if (method === 'mmap') return 'the page cache keeps what it has room for of the experts';
  const all = [...layers.values()].reduce((sum, { experts }) => sum + experts, 0);
  return pool === 'all' ? `${slots} of ${all} experts stay in memory` : `${slots} experts of each layer stay in memory`;
}

function pagesOf(
  { memory: budget, pageTokens }: KvPaging,
  model: Model,
  contextLength: number,
  kvCache: KvFormat,
): PagesPlan {
  const shapes = allSlices(model, kvCache);
  const slices = shapes.map((shape) => shape && kvCacheBytes(shape, pageTokens, kvCache));
  const sliceBytes = slices.reduce((sum: number, bytes = 0) => sum + bytes, 0) / model.layers;
  const plan = planPages({ budget, pageTokens, contextLength, layers: model.layers, sliceBytes });
  if (plan.passingSlices > 0) commonSlice(shapes);
  return plan;
}

/** In a single process the next window is read while one is computed. */
function mappedHooks({ gguf, file, kernels }: WeightsSource, model: Model, { policy, recorder }: LoadOptions) {
  if (policy === undefined) return undefined;
  const windows = equalWindows(model.layers, policy.windowLayers);
  const weights = mappedWeights(kernels, file, weightsLayout(gguf, model), recorder);
  return windowHooks(windows, createWindowWeights({ weights, windows, policy: policy.weights, ahead: 2, recorder }));
}

function listeners({ onPart, recorder }: LoadOptions): PassHooks[] {
  const record = ({ name, tokens, parts }: PartTime): void => {
    for (const part of parts) recorder?.span({ lane: 'cpu', cause: 'compute', name, ...part, args: { tokens } });
  };
  return [...(recorder === undefined ? [] : [{ after: record }]), ...(onPart === undefined ? [] : [{ after: onPart }])];
}

/**
 * Checks that the cache fits: it takes memory as it fills, and one that doesn't fit would end the process, or others,
 * in the middle of a text.
 * @param kvBytes bytes of a full cache
 */
function checkContext(contextLength: number, kvBytes: number): void {
  if (!(Number.isInteger(contextLength) && contextLength >= 1))
    throw new InputError('context', `${contextLength} is not a whole number of tokens from 1 on`);
  // Node knows the limit of the process's cgroups; without one it reports 0 or a huge number.
  const memory = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
  if (kvBytes <= memory) return;
  const needed = formatBytes(kvBytes);
  const room = `at most ${Math.floor((memory / kvBytes) * contextLength)} tokens fit into memory`;
  throw new InputError('context', `${contextLength} tokens need ${needed} of KV cache; ${room}`);
}
