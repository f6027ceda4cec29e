import type { Shape } from '../model/architecture.ts';
import { type KvFormat, kvBytesPerToken } from '../model/kv-format.ts';
import { activationWidths } from './activations.ts';
import { BATCH_TOKENS } from './passes.ts';

/** Pieces from this size on are rounded up to huge pages (native/memory/buffer.cpp). */
const HUGE_PAGE_BYTES = 2 ** 21;

/** Positions of a cache are allocated in blocks (native/kernels/table.hpp: positionBlock). */
const POSITION_BLOCK = 64;

/** Bytes of the KV caches of all layers, once they are full, in the pieces in which they are allocated. */
export function kvCachesBytes(shape: Shape, context: number, type: KvFormat): number {
  const positions = Math.ceil(context / POSITION_BLOCK) * POSITION_BLOCK;
  // Keys and values of a layer are a piece each.
  return 2 * shape.layers * pieceBytes((positions * kvBytesPerToken(shape, type)) / 2);
}

/**
 * Bytes of the activations of the tokens that go through the layers at once, of the packed copies for multiplication,
 * and of one row of logits.
 */
export function activationsBytes(shape: Shape, ropeDimensions: number, context: number): number {
  const tokens = Math.min(BATCH_TOKENS, context);
  const widths = Object.values(activationWidths(shape, ropeDimensions));
  const packs = tokens * (shape.hiddenSize + shape.ffnSize);
  return [...widths.map((width) => tokens * width), packs, shape.vocabularySize].reduce(
    (sum, values) => sum + pieceBytes(4 * values),
    0,
  );
}

function pieceBytes(bytes: number): number {
  return bytes < HUGE_PAGE_BYTES ? bytes : Math.ceil(bytes / HUGE_PAGE_BYTES) * HUGE_PAGE_BYTES;
}
