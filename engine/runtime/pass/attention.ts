import type { KeyValueCache } from '../../kernels/key-value-cache.ts';
import type { Multiplied } from '../../kernels/multiplied.ts';
import type { AttentionOperation, Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import { describe } from '../../model/block/describe.ts';
import { type BufferName, isTextStep, type TextStep } from '../../model/block/layer-step.ts';
import { type KeptHeads, keptHeads, type LayerKind, recurrenceOf } from '../../model/layer-kind.ts';
import type { HeldSlice } from '../kv/page-pool.ts';
import type { PagedCache } from '../kv/paged-cache.ts';
import type { Activations } from './activations.ts';
import type { ExpertsCrossing, LayerSettings } from './layer-operations.ts';
import type { LayerVectors, RecurrenceInputs } from './recurrence.ts';

/** One layer's keys and values of tokens `from` up to, not including, `to`. */
export type TokenSlice = Pick<HeldSlice, 'cache' | 'from' | 'to'>;

/** Buffers that attention reads and writes for consecutive tokens of one sequence. */
export interface AttentionInputs {
  readonly kind: 'attention';
  readonly heads: KeptHeads;
  /** The layer whose keys and values it attends to; default: its own, which it stores. */
  readonly keysOf?: number | undefined;
  /** A score of each head that belongs to no position (AttentionOperation.sinks). */
  readonly sinks?: Vector | undefined; // [heads]
  readonly queries: Vector; // [tokens][heads][headSize]
  readonly keys: Vector; // [tokens][kvHeads][headSize]
  readonly values: Vector; // [tokens][kvHeads][headSize]
  readonly attended: Vector; // [tokens][heads][headSize]
  /** The largest score that each head has seen, and its sum of e^(score − largest). */
  readonly largest: Vector; // [tokens][heads]
  readonly totals: Vector; // [tokens][heads]
  /** Position of the first token in its sequence. */
  readonly position: number;
  readonly multiplied?: Multiplied | undefined;
}

/** The tokens of a pass that belong to one sequence. */
export interface PassTokens extends Pick<AttentionInputs, 'position' | 'multiplied'> {
  /** The first of them in the pass. */
  readonly first: number;
  readonly count: number;
}

/** Inputs and results of a layer's mixer for consecutive tokens of one text. */
export type MixerInputs = AttentionInputs | RecurrenceInputs;

/**
 * The inputs for `count` tokens of a pass from its token `first` on.
 * @returns `undefined` for a layer that doesn't mix tokens
 */
export function mixerInputs(
  { shape: { hiddenSize }, normEpsilon }: Pick<LayerSettings, 'shape' | 'normEpsilon'>,
  kind: LayerKind,
  activations: Activations,
  { first, count, position, multiplied }: PassTokens,
): MixerInputs | undefined {
  const { steps, widths } = describe(kind, hiddenSize);
  const step = steps.find(isTextStep);
  if (step === undefined) return undefined;
  const buffers = activations.of(kind);
  const part = (vector: Vector, width: number): Vector => vector.slice(first * width, (first + count) * width);
  const own = (name: BufferName): Vector => part(buffers[name] ?? activations.x, widths[name]);
  const mixer = recurrenceOf(kind);
  if (mixer !== undefined)
    return {
      ...{ kind: 'recurrence', mixer, hiddenSize, epsilon: normEpsilon },
      ...{ channels: own('channels'), convolved: own('convolved'), attended: own('attended') },
      ...{ strength: own('strength'), decay: own('decay') },
    };
  const heads = keptHeads(kind) as KeptHeads;
  const { keys, values } = step as TextStep & { readonly kind: 'attend' };
  return {
    ...{ kind: 'attention', heads, position, multiplied },
    keysOf: kind.mixer?.kind === 'attention' ? kind.mixer.keysOf : undefined,
    ...{ queries: own('q'), keys: own(keys), values: own(values), attended: own('attended') },
    largest: part(buffers.largest, heads.heads),
    totals: part(buffers.totals, heads.heads),
  };
}

/** The inputs of attention, with its sinks. @throws RangeError for a layer that doesn't attend */
export function withSinks(inputs: MixerInputs, { attn_sinks: sinks }: LayerVectors): AttentionInputs {
  if (inputs.kind === 'recurrence') throw new RangeError('keys and values of a layer that keeps a state');
  return sinks === undefined ? inputs : { ...inputs, sinks };
}

/**
 * Operations on what is in memory, and the batches that follow. Taking the next batch waits for evicted pages and reuses
 * the memory of the previous ones, so each must be run first; the last one, which is the iterator's return value, may
 * be run together with later operations.
 */
export interface LayerBatches {
  readonly operations: readonly Operation[];
  readonly later?: Iterator<readonly Operation[], readonly Operation[]>;
  /** The way to experts on another processor, after all batches. */
  readonly crossing?: ExpertsCrossing | undefined;
}

/** Stores keys and values of the tokens in a cache of the whole context, unless it is another layer's, and attends to it. */
export function attendWhole(cache: KeyValueCache, inputs: AttentionInputs): Operation[] {
  const { heads, keysOf, sinks, queries, keys, values, attended: y, position, multiplied } = inputs;
  return [
    ...(keysOf === undefined ? [{ kind: 'store', cache, keys, values, position } as const] : []),
    { kind: 'attention', cache, queries, y, position, multiplied, sinks, ...ofHeads(heads) },
  ];
}

/** Pages of which some are not in memory. The slices of these are counted from 0, oldest first, in `passing`. */
type AttendedPages = Pick<PagedCache, 'held' | 'evicted' | 'passing'>;

/**
 * The same for keys and values in pages: the tokens are stored in the newest pages; attention covers the pages in memory,
 * then evicted ones as they arrive (HELM 4.2.3).
 */
export function attendPaged(cache: AttendedPages, layer: number, inputs: AttentionInputs): LayerBatches {
  const held = cache.held(layer);
  if (cache.evicted === 0) return { operations: attendHeld(held, inputs) };
  const first = [...storeInSlices(inputs, held), attendSlices(inputs, held, true)];
  return { operations: first, later: evictedBatches(cache, layer, inputs, divideRows(inputs)) };
}

/** The same where all pages are in memory. */
export function attendHeld(held: readonly TokenSlice[], inputs: AttentionInputs): Operation[] {
  return [...storeInSlices(inputs, held), attendSlices(inputs, held, true), divideRows(inputs)];
}

function divideRows({ totals, attended }: AttentionInputs): Operation {
  return { kind: 'divide-rows', divisors: totals, y: attended };
}

/** Stores the tokens in the newest pages, as many in each as it has of them, unless another layer has. */
function storeInSlices({ keys, values, position, keysOf }: AttentionInputs, held: readonly TokenSlice[]): Operation[] {
  if (keysOf !== undefined) return [];
  return held.flatMap(({ cache, from, to }): Operation[] => {
    if (to <= position) return [];
    const width = cache.kvHeads * cache.headSize;
    const [first, end] = [Math.max(from, position), to];
    const part = (vector: Vector): Vector => vector.slice((first - position) * width, (end - position) * width);
    return [{ kind: 'store', cache, keys: part(keys), values: part(values), position: first - from }];
  });
}

/** One batch per group of evicted pages, the last one with the division. */
function* evictedBatches(
  cache: AttendedPages,
  layer: number,
  inputs: AttentionInputs,
  divide: Operation,
): Generator<readonly Operation[], readonly Operation[]> {
  for (const slices of cache.passing(layer)) {
    const attend = attendSlices(inputs, slices, false);
    if (slices.at(-1)?.page === cache.evicted - 1) return [attend, divide];
    yield [attend];
  }
  return [divide];
}

function attendSlices(inputs: AttentionInputs, slices: readonly TokenSlice[], begins: boolean): Operation {
  const { heads, sinks, queries, attended: y, largest, totals, position, multiplied } = inputs;
  const pages = slices.map(({ cache, from, to }) => ({ cache, first: from, count: to - from }));
  const state = { queries, y, largest, totals, position, begins, multiplied, sinks };
  return { kind: 'attend-pages', pages, ...state, ...ofHeads(heads) };
}

function ofHeads({ heads, scale, window }: KeptHeads): Pick<AttentionOperation, 'heads' | 'scale' | 'window'> {
  return { heads, scale, ...(window !== undefined && { window }) };
}
