import type { Kernels, PreparedOperations } from '../../kernels/kernels.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { CrossedExperts } from './crossed-experts.ts';
import type { Segment } from './layer-batches.ts';
import type { ExpertsCrossing } from './layer-operations.ts';
import { VERIFIED_TOKENS } from './transformer.ts';

/** Operations of layers up to experts on another processor, or to the end. */
export interface LayerStretch<Program> {
  readonly program: Program;
  /** The way to the experts; what comes after it is in the next stretch. */
  readonly crossing?: Pick<ExpertsCrossing, 'values' | 'sum'> & { readonly layer: number; readonly meanwhile: Program };
}

/** Layers `from` up to `to`, and what multiplies experts of them elsewhere. */
export interface LayersToRun {
  readonly from: number;
  readonly to: number;
  readonly experts?: CrossedExperts | undefined;
}

export interface RepeatedLayers {
  /**
   * Prepared operations of layers for the tokens of a segment, at any position; `undefined` the first
   * time that such a segment comes, and where its attention differs by more than the position.
   */
  stretches(segment: Segment, layers: LayersToRun): readonly LayerStretch<PreparedOperations>[] | undefined;
}

/**
 * Operations of layers for a few tokens of one sequence, which come again for each next token. Putting them together
 * and encoding them takes a host longer than a fast GPU computes.
 * @param build the operations of a segment; a sequence's layers always have their experts on the same processors
 */
export function repeatedLayers(
  kernels: Pick<Kernels, 'prepare'>,
  build: (segment: Segment, layers: LayersToRun) => readonly LayerStretch<readonly Operation[]>[],
): RepeatedLayers {
  type Known = readonly LayerStretch<PreparedOperations>[] | 'once';
  /** By sequence and shape; 'once': the shape has come once. */
  const known = new WeakMap<Segment['cache'], Map<string, Known>>();
  return {
    stretches(segment, layers) {
      const { cache, tokens, multiplied } = segment;
      const { prepare } = kernels;
      if (prepare === undefined || cache.isWhole !== true || tokens > VERIFIED_TOKENS) return undefined;
      const shapes = known.get(cache) ?? new Map<string, Known>();
      known.set(cache, shapes);
      const shape = `${layers.from} ${layers.to} ${tokens} ${multiplied}`;
      const before = shapes.get(shape);
      const found = before === 'once' ? build(segment, layers).map((one) => prepared(one, prepare)) : before;
      shapes.set(shape, found ?? 'once');
      return found;
    },
  };
}

function prepared(
  { program, crossing }: LayerStretch<readonly Operation[]>,
  prepare: NonNullable<Kernels['prepare']>,
): LayerStretch<PreparedOperations> {
  return {
    program: prepare(program),
    ...(crossing && { crossing: { ...crossing, meanwhile: prepare(crossing.meanwhile) } }),
  };
}
