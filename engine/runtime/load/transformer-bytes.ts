import type { LayerWidths, Shape } from '../../model/architecture.ts';
import { STATE_VALUE_BYTES } from '../../model/kept-bytes.ts';
import { type KvFormat, kvBytesPerToken } from '../../model/kv-format.ts';
import { activeSize, keptHeads, storesKeys } from '../../model/layer-kind.ts';
import { REMEMBERED_STATES, stateValues } from '../kv/layer-states.ts';
import { activationWidths } from '../pass/activations.ts';
import { BATCH_TOKENS } from '../pass/passes.ts';
import type { Rotations } from '../pass/rotations.ts';

/** Pieces from this size on are rounded up to huge pages (native/memory/buffer.cpp). */
const HUGE_PAGE_BYTES = 2 ** 21;

/** Positions of a cache are allocated in blocks (native/kernels/table.hpp: positionBlock). */
const POSITION_BLOCK = 64;

/**
 * Bytes of the KV caches of all layers, once they are full, in the pieces in which they are allocated, and of a text's
 * states with those that are remembered.
 */
export function kvCachesBytes(shape: Pick<Shape, 'kinds' | 'hiddenSize'>, context: number, type: KvFormat): number {
  const states = STATE_VALUE_BYTES * stateValues(shape) * (1 + REMEMBERED_STATES);
  return shape.kinds.reduce((sum, kind) => {
    const heads = storesKeys(kind) ? keptHeads(kind) : undefined;
    return heads === undefined ? sum : sum + kvCacheBytes(heads, context, type);
  }, states);
}

/** The same for a layer with such heads. */
export function kvCacheBytes(
  heads: Pick<LayerWidths, 'kvHeads' | 'headSize'>,
  context: number,
  type: KvFormat,
): number {
  const positions = Math.ceil(context / POSITION_BLOCK) * POSITION_BLOCK;
  // Keys and values are a piece each.
  return 2 * pieceBytes((positions * kvBytesPerToken(heads, type)) / 2);
}

/**
 * Bytes of the activations of the tokens that go through the layers at once, of the packed copies for multiplication,
 * and of one row of logits.
 */
export function activationsBytes(shape: Shape, rotations: Rotations, context: number): number {
  const tokens = Math.min(BATCH_TOKENS, context);
  const widths = activationWidths(shape, rotations);
  const packs =
    tokens * (shape.hiddenSize + Math.max(...shape.kinds.map(({ feedForward }) => activeSize(feedForward))));
  return [...widths.map((width) => tokens * width), packs, shape.vocabularySize].reduce(
    (sum, values) => sum + pieceBytes(4 * values),
    0,
  );
}

function pieceBytes(bytes: number): number {
  return bytes < HUGE_PAGE_BYTES ? bytes : Math.ceil(bytes / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
}
