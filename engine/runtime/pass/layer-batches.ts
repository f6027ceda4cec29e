import type { MultiplyExpertsOperation } from '../../kernels/expert-operations.ts';
import type { Multiplied } from '../../kernels/multiplied.ts';
import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { LayerKind } from '../../model/layer-kind.ts';
import type { LayerWeights } from '../weights/transformer-weights.ts';
import type { Activations } from './activations.ts';
import { type LayerBatches, type MixerInputs, mixerInputs } from './attention.ts';
import type { LayersMixing } from './context-cache.ts';
import { expertOperations, type LayerSettings, layerOperations } from './layer-operations.ts';
import { writePositions } from './positions.ts';

/** Consecutive tokens of one sequence in a pass. A pass has the tokens of several sequences, one after the other. */
export interface Segment {
  readonly cache: LayersMixing;
  /** Position of the first token in its sequence. */
  readonly position: number;
  readonly tokens: number;
  /** See SequenceWork. */
  readonly multiplied?: MultiplyOperation['multiplied'] | undefined;
}

/** A segment, and what the mixers of layers read and write of it. */
export interface PassSegment {
  readonly cache: LayersMixing;
  readonly inputsOf: (kind: LayerKind) => MixerInputs | undefined;
  readonly multiplied: Segment['multiplied'];
  readonly tokens: number;
}

/** Writes what depends on the positions of all tokens, and divides the activations among the segments. */
export function passSegments(
  settings: Pick<LayerSettings, 'shape' | 'normEpsilon' | 'rotations'>,
  activations: Activations,
  segments: readonly Segment[],
): PassSegment[] {
  let first = 0;
  return segments.map(({ cache, position, tokens: count, multiplied }) => {
    const own = { first, count, position, multiplied };
    writePositions(settings.rotations, activations.positions, own);
    first += count;
    const known = new Map<LayerKind, MixerInputs | undefined>();
    const inputsOf = (kind: LayerKind): MixerInputs | undefined => {
      if (!known.has(kind)) known.set(kind, mixerInputs(settings, kind, activations, own));
      return known.get(kind);
    };
    return { cache, inputsOf, multiplied, tokens: count };
  });
}

/**
 * The operations of one layer for the tokens of all segments: weights are multiplied with all of them at once, attention
 * is by segment. What segments have in memory comes first, then evicted pages, segment by segment.
 */
export function layerBatches(
  settings: LayerSettings,
  weights: LayerWeights,
  layer: number,
  { activations, segments }: { readonly activations: Activations; readonly segments: readonly PassSegment[] },
): LayerBatches {
  const batches = segments.flatMap(({ cache, inputsOf }) => {
    const inputs = inputsOf(weights.kind);
    return inputs === undefined ? [] : [cache.mix(layer, inputs, weights.vectors)];
  });
  const first = batches.flatMap(({ operations }) => operations);
  const waiting = batches.flatMap(({ later }) => (later === undefined ? [] : [later]));
  const runs = multipliedRuns(segments);
  const operations = layerOperations(settings, weights, activations);
  const { promptExperts = 'together' } = settings;
  const divided = (all: readonly Operation[]): readonly Operation[] => byRuns(all, runs, promptExperts);
  const [before, after] = [divided(operations.before), divided(operations.after)];
  const { crossing: whole } = operations;
  const crossing = whole && { ...whole, meanwhile: divided(whole.meanwhile), beyond: divided(whole.beyond) };
  if (waiting.length === 0) return { operations: [...before, ...first, ...after], crossing };
  return { operations: [...before, ...first], later: inTurn(waiting, after), crossing };
}

/** A layer's experts by themselves, for the tokens of all segments (expertOperations). */
export function expertBatch(
  settings: LayerSettings,
  weights: LayerWeights,
  activations: Activations,
  segments: readonly Pick<Segment, 'tokens' | 'multiplied'>[],
): readonly Operation[] {
  const { promptExperts = 'together' } = settings;
  return byRuns(expertOperations(settings, weights, activations), multipliedRuns(segments), promptExperts);
}

/** Consecutive tokens that are multiplied in one way. */
interface MultipliedRun {
  readonly count: number;
  readonly multiplied: MultiplyOperation['multiplied'];
}

/** How the output layer multiplies, with one token or a few of each sequence: as singly as generation does. */
export function outputMultiplied(work: readonly Pick<Segment, 'multiplied'>[]): MultiplyOperation['multiplied'] {
  return work.some(({ multiplied }) => multiplied !== undefined) ? 'singly' : undefined;
}

function multipliedRuns(segments: readonly Pick<Segment, 'tokens' | 'multiplied'>[]): MultipliedRun[] {
  const runs: { count: number; multiplied: MultiplyOperation['multiplied'] }[] = [];
  for (const { tokens, multiplied } of segments) {
    const last = runs.at(-1);
    if (last?.multiplied === multiplied && last !== undefined) last.count += tokens;
    else runs.push({ count: tokens, multiplied });
  }
  return runs;
}

/** The operations, with each product divided by runs of tokens: weights are read once for each run. */
function byRuns(
  operations: readonly Operation[],
  runs: readonly MultipliedRun[],
  experts: Multiplied,
): readonly Operation[] {
  const [first] = runs;
  const wayOf = (operation: MultiplyOperation | MultiplyExpertsOperation, way: Multiplied | undefined) =>
    way === 'together' && isChosen(operation) ? experts : way;
  if (runs.length === 1 && first?.multiplied === undefined) return operations;
  // Vectors are sliced only where they are divided: a slice takes a microsecond, and a pass has hundreds.
  if (runs.length === 1)
    return operations.map((operation) =>
      isProduct(operation) ? { ...operation, multiplied: wayOf(operation, first?.multiplied) } : operation,
    );
  const tokens = runs.reduce((sum, { count }) => sum + count, 0);
  return operations.flatMap((operation): Operation[] => {
    if (!isProduct(operation)) return [operation];
    let end = 0;
    return runs.map(({ count, multiplied }) => {
      const first = end;
      end += count;
      const part = (vector: Vector): Vector => {
        const width = vector.values.length / tokens;
        return vector.slice(first * width, end * width);
      };
      const own = { x: part(operation.x), y: part(operation.y), multiplied: wayOf(operation, multiplied) };
      return operation.kind === 'multiply'
        ? { ...operation, ...own }
        : { ...operation, ...own, routes: part(operation.routes) };
    });
  });
}

/** Whether tokens choose the matrices that they are multiplied with; each is multiplied with those of all heads. */
function isChosen(operation: MultiplyOperation | MultiplyExpertsOperation): boolean {
  return operation.kind === 'multiply-experts' && operation.used < operation.experts;
}

function isProduct(operation: Operation): operation is MultiplyOperation | MultiplyExpertsOperation {
  return operation.kind === 'multiply' || operation.kind === 'multiply-experts';
}

function* inTurn(
  waiting: readonly NonNullable<LayerBatches['later']>[],
  after: readonly Operation[],
): Generator<readonly Operation[], readonly Operation[]> {
  for (const [index, later] of waiting.entries()) {
    let batch = later.next();
    for (; batch.done !== true; batch = later.next()) yield batch.value;
    if (index === waiting.length - 1) return [...batch.value, ...after];
    yield batch.value;
  }
  return after;
}
