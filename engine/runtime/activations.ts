import type { Vector } from '../kernels/vector.ts';
import type { Shape } from '../model/architecture.ts';
import { type BufferName, describe } from '../model/block.ts';
import type { LayerKind, RotationName } from '../model/layer-kind.ts';
import type { Rotations } from './rotations.ts';

/** Vectors that depend on the positions of a pass's tokens and not on the tokens: written once for all layers. */
export interface PositionVectors {
  /** Cosines and sines by rotation: [tokens][dimensions/2][cosine, sine]. */
  readonly angles: Readonly<Partial<Record<RotationName, Vector>>>;
  /** Divisors of queries, in models that have a temperature: [tokens]. */
  readonly queryDivisors: Vector | undefined;
}

/** The buffers of a layer for some tokens, [tokens][width] each; layers of all kinds use the same memory. */
export interface LayerBuffers extends Readonly<Record<BufferName, Vector>> {
  /** The largest score that each head has seen in pages, and its sum of e^(score − largest). */
  readonly largest: Vector; // [tokens][heads]
  readonly totals: Vector; // [tokens][heads]
}

/** The buffers of a forward pass for some tokens. */
export interface Activations {
  readonly tokens: number;
  /** The residual stream. */
  readonly x: Vector; // [tokens][hidden]
  /** The normalised residual stream. */
  readonly h: Vector; // [tokens][hidden]
  readonly positions: PositionVectors;
  /** A layer's buffers. */
  of(kind: LayerKind): LayerBuffers;
}

type Widths = Readonly<Record<keyof LayerBuffers, number>>;

/** Values of each of a layer's buffers for one token. */
function layerWidths(kind: LayerKind, hiddenSize: number): Widths {
  const { heads } = kind.attention;
  return { ...describe(kind, hiddenSize).widths, largest: heads, totals: heads };
}

/** Values of each buffer for one token, the largest of all layers'. */
function mostWidths({ kinds, hiddenSize }: Pick<Shape, 'kinds' | 'hiddenSize'>): Widths {
  const all = [...new Set(kinds)].map((kind) => layerWidths(kind, hiddenSize));
  const names = Object.keys(all[0] as Widths) as (keyof Widths)[];
  return Object.fromEntries(
    names.map((name) => [name, Math.max(...all.map((widths) => widths[name]))]),
  ) as unknown as Widths;
}

/** Values that a pass keeps for one token, buffer by buffer. */
export function activationWidths(shape: Pick<Shape, 'kinds' | 'hiddenSize'>, rotations: Rotations): readonly number[] {
  const angles = [...rotations.byName.values()].map(({ dimensions }) => dimensions);
  const divisors = rotations.temperature === undefined ? [] : [1];
  return [...Object.values(mostWidths(shape)).filter((width) => width > 0), ...angles, ...divisors];
}

/**
 * Allocates memory for up to `most` tokens.
 * @returns a function that gives the part for a number of tokens; the same object for the same number
 */
export function createActivations(
  kernels: { readonly vector: (values: number) => Vector },
  shape: Pick<Shape, 'kinds' | 'hiddenSize'>,
  rotations: Rotations,
  most: number,
): (tokens: number) => Activations {
  const { hiddenSize } = shape;
  const widths = mostWidths(shape);
  const names = Object.keys(widths) as (keyof Widths)[];
  const whole = new Map(
    names.filter((name) => widths[name] > 0).map((name) => [name, kernels.vector(most * widths[name])]),
  );
  const angles = [...rotations.byName].map(([name, { dimensions }]) => ({
    ...{ name, dimensions },
    whole: kernels.vector(most * dimensions),
  }));
  const divisors = rotations.temperature && kernels.vector(most);
  const buffersOf = (kind: LayerKind, tokens: number): LayerBuffers => {
    const own = layerWidths(kind, hiddenSize);
    return Object.fromEntries(
      [...whole].map(([name, vector]) => [name, vector.slice(0, tokens * own[name])]),
    ) as unknown as LayerBuffers;
  };
  const part = (tokens: number): Activations => {
    const byKind = new Map<LayerKind, LayerBuffers>();
    const stream = (name: 'x' | 'h'): Vector => (whole.get(name) as Vector).slice(0, tokens * hiddenSize);
    return {
      ...{ tokens, x: stream('x'), h: stream('h') },
      positions: {
        angles: Object.fromEntries(
          angles.map(({ name, dimensions, whole: vector }) => [name, vector.slice(0, tokens * dimensions)]),
        ),
        queryDivisors: divisors?.slice(0, tokens),
      },
      of(kind) {
        const found = byKind.get(kind) ?? buffersOf(kind, tokens);
        byKind.set(kind, found);
        return found;
      },
    };
  };
  let last = part(most);
  return (tokens) => {
    if (tokens !== last.tokens) last = part(tokens);
    return last;
  };
}
