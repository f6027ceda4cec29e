import { InputError } from '../../input/input-error.ts';
import type { KeyValueCacheShape } from '../../kernels/key-value-cache.ts';
import type { Shape } from '../../model/architecture.ts';
import { type KvFormat, kvBytesPerToken } from '../../model/kv-format.ts';
import { keptHeads, type LayerKind, storesKeys } from '../../model/layer-kind.ts';

/** A layer's keys and values in a page of any length; `undefined` where it stores none. */
export type SliceShape = Omit<KeyValueCacheShape, 'capacity'> | undefined;

/** Layers `from` up to, not including, `to`. */
export interface LayerRange {
  readonly from: number;
  readonly to: number;
}

/**
 * The slices that pages of these layers have.
 * @throws InputError if a layer attends to the keys and values of one that isn't among them
 */
export function sliceShapes(
  { kinds, name }: Pick<Shape, 'kinds' | 'name'>,
  type: KvFormat,
  { from, to }: LayerRange,
): SliceShape[] {
  return kinds.slice(from, to).map((kind, index) => {
    checkKeys(kind, from + index, from, name);
    const heads = storesKeys(kind) ? keptHeads(kind) : undefined;
    return heads && { type, kvHeads: heads.kvHeads, headSize: heads.headSize };
  });
}

function checkKeys({ mixer }: LayerKind, layer: number, from: number, name: string): void {
  if (mixer?.kind !== 'attention' || mixer.keysOf === undefined || mixer.keysOf >= from) return;
  const problem = `layer ${layer} attends to the keys and values of layer ${mixer.keysOf}`;
  throw new InputError(`model ${name}`, `${problem}; both must be in one part: divide it elsewhere, or not at all`);
}

/** Bytes of a page's slice, the mean over its layers. */
export function meanSliceBytes(shapes: readonly SliceShape[], pageTokens: number): number {
  const bytes = shapes.map((shape) => (shape === undefined ? 0 : pageTokens * kvBytesPerToken(shape, shape.type)));
  return bytes.reduce((sum, own) => sum + own, 0) / Math.max(1, shapes.length);
}

/**
 * The shape of all slices, as a file of pages needs it.
 * @throws InputError if layers differ
 */
export function commonSlice(shapes: readonly SliceShape[]): NonNullable<SliceShape> {
  const [first] = shapes;
  if (first !== undefined && shapes.every((shape) => shape !== undefined && isAlike(shape, first))) return first;
  throw new InputError(
    'KV memory',
    'is too little, and layers with unlike keys and values can’t be moved elsewhere; give it more, or ask for less context',
  );
}

function isAlike(a: NonNullable<SliceShape>, b: NonNullable<SliceShape>): boolean {
  return a.kvHeads === b.kvHeads && a.headSize === b.headSize;
}
