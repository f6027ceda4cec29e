import { type LayerWidths, meanWidths, type Shape, type TensorShape, tensorShapes } from './architecture.ts';
import { distinctExperts, type Router } from './feed-forward.ts';
import type { LayerKind } from './layer-kind.ts';
import { type FileMix, isVector, tensorQuantization } from './mix.ts';
import { type Quantization, quantizedBytes } from './quantization.ts';

/** A weight tensor with its format and size. */
export interface Tensor extends TensorShape {
  readonly quantization: Quantization;
  readonly bytes: number;
}

/** Bytes of a group of weights, and the FLOPs by format that one token needs with them. */
export interface WeightGroup {
  /** All of them, as they take memory. */
  readonly bytes: number;
  /** The bytes of experts among them, by how many of how many a token uses. */
  readonly routed: readonly RoutedGroup[];
  /** f^q: FLOPs per token by format, 2 per matrix element (prima.cpp A.3, before Eq. 12). */
  readonly flops: ReadonlyMap<Quantization, number>;
}

/** Bytes of experts of which a token uses `used` of `experts`, and the FLOPs by format of those that it uses. */
export interface RoutedGroup extends Pick<Router, 'experts' | 'used'>, Pick<WeightGroup, 'bytes' | 'flops'> {}

/**
 * Bytes of a group that are read for some tokens together: what is always used, and the experts that any of them uses.
 */
export function readBytes({ bytes, routed }: Pick<WeightGroup, 'bytes' | 'routed'>, tokens: number): number {
  const unread = routed.map((one) => one.bytes * (1 - distinctExperts(one, tokens) / one.experts));
  return unread.reduce((sum, part) => sum - part, bytes);
}

/** A model with the sizes of its weights, as cost models, schedulers and the engine take it. */
export interface Model extends Shape {
  /** How the model is quantized: a mix, or the name that a file gives. */
  readonly mix: string;
  readonly tensors: readonly Tensor[];
  /** b: the mean layer. Formats vary between layers, but the papers' formulas treat all layers alike. */
  readonly layer: WeightGroup;
  /** Its widths. */
  readonly mean: LayerWidths;
  /** Number of layers of each kind. */
  readonly layersByKind: ReadonlyMap<LayerKind, number>;
  /** b_i: the embedding matrix. A token reads one row of it (b_i / V). */
  readonly embedding: WeightGroup;
  /** b_o: output norm and output matrix (the embedding matrix again where it is tied). */
  readonly output: WeightGroup;
  /** Bytes of all weights as stored, tied matrices counted once, without a GGUF file's header. */
  readonly bytes: number;
}

/** The tensors of `shape`, quantized as in `mix`. */
export function modelTensors(shape: Shape, mix: FileMix): Tensor[] {
  return tensorShapes(shape).map((tensor) => {
    const quantization = tensorQuantization(tensor, shape, mix);
    return { ...tensor, quantization, bytes: quantizedBytes(tensor.rows * tensor.columns, quantization) };
  });
}

/** A model of `shape`, quantized as in `mix`. */
export function createModel(shape: Shape, mix: FileMix): Model {
  return countModel(shape, mix, modelTensors(shape, mix));
}

/** A model with the given tensors, whose bytes and FLOPs are summed up. */
export function countModel(shape: Shape, mix: string, tensors: readonly Tensor[]): Model {
  const embedding = tensors.filter((tensor) => tensor.role === 'token_embd');
  const outputRoles = shape.tiedEmbeddings ? ['output_norm', 'token_embd'] : ['output_norm', 'output'];
  const { layers } = shape;
  return {
    ...shape,
    mix,
    tensors,
    mean: meanWidths(shape),
    layersByKind: countKinds(shape),
    layer: weightGroup(
      tensors.filter((tensor) => tensor.layer !== undefined),
      shape,
      layers,
    ),
    embedding: { bytes: totalBytes(embedding), routed: [], flops: new Map() },
    output: weightGroup(
      tensors.filter((tensor) => outputRoles.includes(tensor.role)),
      shape,
      1,
    ),
    bytes: totalBytes(tensors),
  };
}

/** Layers by kind. */
export function countKinds({ kinds }: Pick<Shape, 'kinds'>): ReadonlyMap<LayerKind, number> {
  const counts = new Map<LayerKind, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return counts;
}

function weightGroup(tensors: readonly Tensor[], shape: Shape, parts: number): WeightGroup {
  const flops = new Map<Quantization, number>();
  const routed = new Map<string, RoutedGroup & { bytes: number; readonly flops: Map<Quantization, number> }>();
  for (const tensor of tensors) {
    const chosen = tensor.experts === undefined ? undefined : routerOf(shape, tensor);
    let own: Map<Quantization, number> | undefined;
    if (chosen !== undefined) {
      const { experts, used } = chosen;
      const alike = `${used} of ${experts}`;
      const known = routed.get(alike) ?? { experts, used, bytes: 0, flops: new Map() };
      known.bytes += tensor.bytes / parts;
      routed.set(alike, known);
      own = known.flops;
    }
    if (isVector(tensor)) continue;
    const { quantization, rows, columns } = tensor;
    const share = chosen === undefined ? 1 : chosen.used / chosen.experts;
    for (const sums of [flops, ...(own ? [own] : [])])
      sums.set(quantization, (sums.get(quantization) ?? 0) + (2 * share * rows * columns) / parts);
  }
  return { bytes: totalBytes(tensors) / parts, routed: [...routed.values()], flops };
}

/** How a layer's experts are chosen. */
function routerOf({ kinds }: Shape, { layer = 0 }: Tensor): Router | undefined {
  const feedForward = kinds[layer]?.feedForward;
  return feedForward?.kind === 'experts' ? feedForward.router : undefined;
}

/** Bytes of the experts of layers `from` up to `to`. */
export function expertBytes({ tensors }: Pick<Model, 'tensors'>, from: number, to: number): number {
  const isOfThem = ({ experts, layer = -1 }: Tensor): boolean => experts !== undefined && layer >= from && layer < to;
  return totalBytes(tensors.filter(isOfThem));
}

function totalBytes(tensors: readonly Tensor[]): number {
  return tensors.reduce((sum, tensor) => sum + tensor.bytes, 0);
}
