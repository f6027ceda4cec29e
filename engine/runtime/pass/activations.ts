import type { Kernels } from '../../kernels/kernels.ts';
import type { Vector } from '../../kernels/vector.ts';
import type { Shape } from '../../model/architecture.ts';
import { describe } from '../../model/block/describe.ts';
import type { BufferName } from '../../model/block/layer-step.ts';
import { ROUTE_NUMBERS } from '../../model/feed-forward.ts';
import { keptHeads, type LayerKind, type RotationName } from '../../model/layer-kind.ts';
import { lazily } from './lazily.ts';
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
  /** Embeddings that layers have of the tokens for themselves, and room for what is added to them. */
  readonly layerInputs: LayerInputBuffers | undefined;
  /** The choices 0 … heads − 1 of every token, with the weight 1: `multiply-experts` multiplies heads by them. */
  headRoutes(heads: number): Vector; // [tokens][heads][expert, weight]
  /** Weights of a norm that has none. */
  ones(width: number): Vector;
  /** A layer's buffers. */
  of(kind: LayerKind): LayerBuffers;
  /** Input of a mixture on another processor: [tokens][hidden], then [tokens][used][expert, weight]. */
  crossing(kind: LayerKind): Vector;
}

/** [tokens][layers · inputs] both */
export interface LayerInputBuffers {
  readonly inputs: Vector;
  readonly projected: Vector;
}

/** The facts that activations depend on. */
export type ActivationShape = Pick<Shape, 'kinds' | 'hiddenSize' | 'layerInputs'>;

type Widths = Readonly<Record<keyof LayerBuffers, number>>;

/** Values of each of a layer's buffers for one token. */
function layerWidths(kind: LayerKind, hiddenSize: number): Widths {
  const heads = keptHeads(kind)?.heads ?? 0;
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

/** Values of the embeddings that all layers have of a token for themselves. */
function layerInputValues({ kinds, layerInputs = 0 }: ActivationShape): number {
  return kinds.length * layerInputs;
}

function headChoices(heads: number, tokens: number): Float32Array {
  return Float32Array.from({ length: tokens * heads * ROUTE_NUMBERS }, (_, i) => (i % 2 === 0 ? (i / 2) % heads : 1));
}

/** Values that a pass keeps for one token, buffer by buffer. */
export function activationWidths(shape: ActivationShape, rotations: Rotations): readonly number[] {
  const angles = [...rotations.byName.values()].map(({ dimensions }) => dimensions);
  const divisors = rotations.temperature === undefined ? [] : [1];
  const inputs = layerInputValues(shape);
  const buffers = [...Object.values(mostWidths(shape)), inputs, inputs];
  return [...buffers.filter((width) => width > 0), ...angles, ...divisors];
}

/**
 * Allocates memory for up to `most` tokens.
 * @returns a function that gives the part for a number of tokens; the same object for the same number
 */
export function createActivations(
  kernels: Pick<Kernels, 'vector'>,
  shape: ActivationShape,
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
  const inputValues = layerInputValues(shape);
  const layerInputs =
    inputValues === 0
      ? undefined
      : { inputs: kernels.vector(most * inputValues), projected: kernels.vector(most * inputValues) };
  const routes = new Map<number, Vector>();
  const crossing = lazily(() => kernels.vector(most * (hiddenSize + widths.routes)));
  const ones = lazily(() => kernels.vector(new Float32Array(Math.max(...Object.values(widths))).fill(1)));
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
      layerInputs: layerInputs && {
        inputs: layerInputs.inputs.slice(0, tokens * inputValues),
        projected: layerInputs.projected.slice(0, tokens * inputValues),
      },
      headRoutes(heads) {
        const all = routes.get(heads) ?? kernels.vector(headChoices(heads, most));
        routes.set(heads, all);
        return all.slice(0, tokens * heads * ROUTE_NUMBERS);
      },
      ones: (width) => ones().slice(0, width),
      positions: {
        angles: Object.fromEntries(
          angles.map(({ name, dimensions, whole: vector }) => [name, vector.slice(0, tokens * dimensions)]),
        ),
        queryDivisors: divisors?.slice(0, tokens),
      },
      crossing: (kind) => crossing().slice(0, tokens * (hiddenSize + layerWidths(kind, hiddenSize).routes)),
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
