import type { Kernels, PreparedOperations } from '../../kernels/kernels.ts';
import type { LayerWeights } from '../weights/transformer-weights.ts';
import type { Activations } from './activations.ts';
import { expertBatch, type Segment } from './layer-batches.ts';
import type { LayerSettings } from './layer-operations.ts';
import { VERIFIED_TOKENS } from './transformer.ts';

/** Experts of layers whose other weights are on another processor, or device. */
export interface CrossedExperts {
  /** Whether those of a layer are here. */
  has(layer: number): boolean;
  /**
   * Multiplies the experts that tokens chose, and adds up their results.
   * @param crossing ExpertsCrossing.values, in whose first values the sum is afterwards: [tokens][hidden]
   */
  multiply(
    layer: number,
    segments: readonly Pick<Segment, 'tokens' | 'multiplied'>[],
    crossing: Float32Array,
  ): void | Promise<void>;
}

export interface CrossedExpertsOptions {
  readonly kernels: Kernels;
  readonly settings: LayerSettings;
  /** Activations of kernels on a CPU, which are free while layers run elsewhere. */
  readonly activationsOf: (tokens: number) => Activations;
  /** The weights of experts, by layer. */
  readonly weights: ReadonlyMap<number, LayerWeights>;
}

/** Multiplies experts on a CPU; for a few tokens of one text, operations are prepared once. */
export function createCrossedExperts({
  kernels,
  settings,
  activationsOf,
  weights,
}: CrossedExpertsOptions): CrossedExperts {
  const prepared = new Map<string, PreparedOperations>();
  const perform = (layer: number, segments: Parameters<CrossedExperts['multiply']>[1], tokens: number): void => {
    const build = () => expertBatch(settings, weights.get(layer) as LayerWeights, activationsOf(tokens), segments);
    if (kernels.prepare === undefined || segments.length > 1 || tokens > VERIFIED_TOKENS) {
      kernels.run(build());
      return;
    }
    const shape = `${layer} ${tokens} ${segments[0]?.multiplied}`;
    const known = prepared.get(shape) ?? kernels.prepare(build());
    prepared.set(shape, known);
    known.run([], 0);
  };
  return {
    has: (layer) => weights.has(layer),
    multiply(layer, segments, crossing) {
      const tokens = segments.reduce((sum, one) => sum + one.tokens, 0);
      const activations = activationsOf(tokens);
      const { h } = activations;
      const { routes } = activations.of((weights.get(layer) as LayerWeights).kind);
      h.values.set(crossing.subarray(0, h.values.length));
      routes.values.set(crossing.subarray(h.values.length));
      perform(layer, segments, tokens);
      crossing.set(h.values);
    },
  };
}
