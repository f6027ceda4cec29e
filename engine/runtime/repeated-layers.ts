import type { Kernels, PreparedOperations } from '../kernels/kernels.ts';
import type { Operation } from '../kernels/operation.ts';
import type { Segment } from './layer-batches.ts';
import { VERIFIED_TOKENS } from './transformer.ts';

export interface RepeatedLayers {
  /**
   * Prepared operations of layers `from` up to `to` for the tokens of a segment, at any position; `undefined` the first
   * time that such a segment comes, and where its attention differs by more than the position.
   */
  operations(segment: Segment, from: number, to: number): PreparedOperations | undefined;
}

/**
 * Operations of layers for a few tokens of one sequence, which come again for each next token. Putting them together
 * and encoding them takes a host longer than a fast GPU computes.
 * @param build the operations of a segment
 */
export function repeatedLayers(
  kernels: Pick<Kernels, 'prepare'>,
  build: (segment: Segment, from: number, to: number) => Operation[],
): RepeatedLayers {
  /** By sequence and shape; 'once': the shape has come once. */
  const known = new WeakMap<Segment['cache'], Map<string, PreparedOperations | 'once'>>();
  return {
    operations(segment, from, to) {
      const { cache, tokens, multiplied } = segment;
      if (kernels.prepare === undefined || cache.isWhole !== true || tokens > VERIFIED_TOKENS) return undefined;
      const shapes = known.get(cache) ?? new Map<string, PreparedOperations | 'once'>();
      known.set(cache, shapes);
      const shape = `${from} ${to} ${tokens} ${multiplied}`;
      const before = shapes.get(shape);
      const found = before === 'once' ? kernels.prepare(build(segment, from, to)) : before;
      shapes.set(shape, found ?? 'once');
      return found;
    },
  };
}
