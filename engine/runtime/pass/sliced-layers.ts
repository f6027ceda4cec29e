import type { Kernels } from '../../kernels/kernels.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { Shape } from '../../model/architecture.ts';
import type { LayerKind } from '../../model/layer-kind.ts';
import { type LayerSlice, slicedShape } from '../../plan/tensor-slices.ts';
import type { LayerWeights, WeightsLoader } from '../weights/transformer-weights.ts';
import { type Activations, createActivations } from './activations.ts';
import { layerBatches, passSegments, type Segment } from './layer-batches.ts';
import { type LayerSettings, promptExperts } from './layer-operations.ts';
import type { Rotations } from './rotations.ts';

/** A device's slices of all layers of a model, each in two halves: attention, and the feed-forward part. */
export interface SlicedLayers {
  /** Two for each layer. */
  readonly halves: number;
  /**
   * Prepares a pass over tokens of segments whose caches have the device's heads. @returns what computes a half: from the
   * residual stream, [tokens][hidden], what the device's slice adds to it, in memory that the next half overwrites
   */
  begin(segments: readonly Segment[]): (half: number, stream: Float32Array) => Float32Array;
}

export interface SlicedLayersOptions {
  readonly kernels: Kernels;
  /** The whole model. */
  readonly shape: Shape;
  readonly normEpsilon: number;
  readonly rotations: Rotations;
  readonly weights: Pick<WeightsLoader, 'slice'>;
  /** By layer. */
  readonly slices: readonly LayerSlice[];
  /** The most tokens of a pass. */
  readonly mostTokens: number;
}

/** Loads slices on a CPU. */
export function createSlicedLayers(options: SlicedLayersOptions): SlicedLayers {
  const { kernels, normEpsilon, rotations, slices } = options;
  const whole = slicedShape(options.shape, slices);
  const halvesOf = halfKinds();
  const layers = whole.kinds.map((kind, layer) => {
    const own = options.weights.slice(layer, slices[layer] as LayerSlice);
    return halvesOf(kind).map((half): LayerWeights => ({ ...own, kind: half }));
  });
  const halves = layers.flat();
  const shape = { ...whole, kinds: halves.map(({ kind }) => kind) };
  const settings: LayerSettings = { shape, normEpsilon, rotations, promptExperts: promptExperts(kernels) };
  const activationsOf = createActivations(kernels, shape, rotations, options.mostTokens);
  return {
    halves: halves.length,
    begin(segments) {
      const activations = activationsOf(segments.reduce((sum, one) => sum + one.tokens, 0));
      const pass = { activations, segments: passSegments(settings, activations, segments) };
      return (half, stream) => {
        const weights = halves[half] as LayerWeights;
        activations.x.values.set(stream);
        const { operations } = layerBatches(settings, weights, weights.index, pass);
        kernels.run(withoutStream(operations, activations));
        return activations.x.values;
      };
    },
  };
}

/** Halves of kinds of layers; those of one kind share their objects. */
function halfKinds(): (kind: LayerKind) => readonly [LayerKind, LayerKind] {
  const known = new Map<LayerKind, readonly [LayerKind, LayerKind]>();
  return (kind) => {
    const { feedForward: _inner, ...attention } = kind;
    const { mixer: _mixer, ...feedForward } = kind;
    const found = known.get(kind) ?? ([attention, feedForward] as const);
    known.set(kind, found);
    return found;
  };
}

/** The operations, with results in place of the residual stream that they are otherwise added to. */
function withoutStream(operations: readonly Operation[], { x }: Pick<Activations, 'x'>): Operation[] {
  return operations.map((operation) =>
    operation.kind === 'multiply' && operation.y.id === x.id ? { ...operation, accumulate: false } : operation,
  );
}
