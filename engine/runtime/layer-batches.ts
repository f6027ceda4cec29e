import type { Operation } from '../kernels/operation.ts';
import { ropeAngles } from '../kernels/rope-angles.ts';
import type { Shape } from '../model/architecture.ts';
import type { Activations } from './activations.ts';
import { type AttentionInputs, attentionInputs, type LayerBatches } from './attention.ts';
import type { ContextCache } from './context-cache.ts';
import { afterAttention, beforeAttention, type LayerSettings } from './layer-operations.ts';
import type { RotaryEmbedding } from './rotary-embedding.ts';
import type { LayerWeights } from './transformer-weights.ts';

/** Consecutive tokens of one sequence in a pass. A pass has the tokens of several sequences, one after the other. */
export interface Segment {
  readonly cache: ContextCache;
  /** Position of the first token in its sequence. */
  readonly position: number;
  readonly tokens: number;
}

/** A segment, and what its attention reads and writes. */
export interface PassSegment {
  readonly cache: ContextCache;
  readonly inputs: AttentionInputs;
}

/** Writes the angles of all tokens, and divides the activations among the segments. */
export function passSegments(
  shape: Shape,
  rotary: RotaryEmbedding,
  activations: Activations,
  segments: readonly Segment[],
): PassSegment[] {
  let first = 0;
  return segments.map(({ cache, position, tokens: count }) => {
    const { dimensions } = rotary;
    ropeAngles(rotary, position, activations.angles.values.subarray(first * dimensions, (first + count) * dimensions));
    const inputs = attentionInputs(shape, activations, { first, count, position });
    first += count;
    return { cache, inputs };
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
  const batches = segments.map(({ cache, inputs }) => cache.attend(layer, inputs));
  const first = batches.flatMap(({ operations }) => operations);
  const waiting = batches.flatMap(({ later }) => (later === undefined ? [] : [later]));
  const before = beforeAttention(settings, weights, activations);
  const after = afterAttention(settings, weights, activations);
  if (waiting.length === 0) return { operations: [...before, ...first, ...after] };
  return { operations: [...before, ...first], later: inTurn(waiting, after) };
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
