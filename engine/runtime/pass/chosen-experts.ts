import type { Kernels } from '../../kernels/kernels.ts';
import { ROUTE_NUMBERS } from '../../model/feed-forward.ts';
import type { LayerKind } from '../../model/layer-kind.ts';
import type { LayerWeights } from '../weights/transformer-weights.ts';
import type { Activations } from './activations.ts';
import { expertOperations, type LayerSettings } from './layer-operations.ts';

/** Tokens that chose experts of a layer. */
export interface ChosenRows {
  /** Normalised hidden states: [rows][hidden] */
  readonly values: Float32Array;
  /** By row the experts to multiply, and the weights of their results. */
  readonly choices: readonly (readonly { readonly expert: number; readonly weight: number }[])[];
}

/** Experts of layers, of which tokens may choose any number. */
export interface ChosenExperts {
  /** Weighted sums of the chosen experts' results, each in the order of its choices: [rows][hidden]. */
  multiply(layer: number, rows: ChosenRows): Float32Array;
}

export interface ChosenExpertsOptions {
  readonly kernels: Kernels;
  readonly settings: LayerSettings;
  /** Activations of the kernels, which are free while no layer runs. */
  readonly activationsOf: (tokens: number) => Activations;
  /** The most tokens of these. */
  readonly mostTokens: number;
  /** The weights of experts, by layer. */
  readonly weights: (layer: number) => LayerWeights;
}

/**
 * Multiplies experts on a CPU. Each choice is a token of its own with a single expert, so that kernels read an expert once for all
 * of its choices; all are multiplied singly, which gives a result whatever others are chosen.
 */
export function createChosenExperts(options: ChosenExpertsOptions): ChosenExperts {
  const { kernels, settings, activationsOf, mostTokens } = options;
  const { hiddenSize } = settings.shape;
  const kinds = new Map<LayerKind, LayerKind>();
  const singleOf = (kind: LayerKind): LayerKind => {
    const found = kinds.get(kind) ?? withOneExpert(kind);
    kinds.set(kind, found);
    return found;
  };
  return {
    multiply(layer, { values, choices }) {
      const weights = options.weights(layer);
      const single = { ...weights, kind: singleOf(weights.kind) };
      const sums = new Float32Array(values.length);
      const all = choices.flatMap((own, row) => own.map((choice) => ({ ...choice, row })));
      for (let from = 0; from < all.length; from += mostTokens) {
        const part = all.slice(from, from + mostTokens);
        const activations = activationsOf(part.length);
        const { h } = activations;
        const { routes } = activations.of(single.kind);
        for (const [at, { row, expert, weight }] of part.entries()) {
          h.values.set(values.subarray(row * hiddenSize, (row + 1) * hiddenSize), at * hiddenSize);
          routes.values.set([expert, weight], at * ROUTE_NUMBERS);
        }
        const operations = expertOperations(settings, single, activations);
        kernels.run(
          operations.map((one) => (one.kind === 'multiply-experts' ? { ...one, multiplied: 'singly' } : one)),
        );
        for (const [at, { row }] of part.entries())
          for (let column = 0; column < hiddenSize; column++) {
            const place = row * hiddenSize + column;
            sums[place] = (sums[place] as number) + (h.values[at * hiddenSize + column] as number);
          }
      }
      return sums;
    },
  };
}

/** A kind of layer whose router chooses one expert. */
function withOneExpert(kind: LayerKind): LayerKind {
  const { feedForward } = kind;
  if (feedForward?.kind !== 'experts') throw new RangeError('a layer has no experts');
  return { ...kind, feedForward: { ...feedForward, router: { ...feedForward.router, used: 1 } } };
}
