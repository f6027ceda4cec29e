import type { Vector } from '../kernels/vector.ts';
import type { Shape } from '../model/architecture.ts';

/** The buffers of a forward pass for some tokens; every layer uses the same memory. */
export interface Activations {
  readonly tokens: number;
  /** The residual stream. */
  readonly x: Vector; // [tokens][hidden]
  /** The normalised residual stream, the input of attention and feed-forward. */
  readonly h: Vector; // [tokens][hidden]
  readonly q: Vector; // [tokens][heads][headSize]
  readonly k: Vector; // [tokens][kvHeads][headSize]
  readonly v: Vector; // [tokens][kvHeads][headSize]
  /** The output of the heads. */
  readonly attended: Vector; // [tokens][heads][headSize]
  readonly gate: Vector; // [tokens][ffn]
  readonly up: Vector; // [tokens][ffn]
  /** Of attention in pages: the largest score that each head has seen, and its sum of e^(score − largest). */
  readonly largest: Vector; // [tokens][heads]
  readonly totals: Vector; // [tokens][heads]
  /** Cosines and sines of the rotary embedding. */
  readonly angles: Vector; // [tokens][dimensions/2][cosine, sine]
}

/** Values of each buffer for one token. */
export function activationWidths(
  { hiddenSize, ffnSize, heads, kvHeads, headSize }: Shape,
  ropeDimensions: number,
): Readonly<Record<Exclude<keyof Activations, 'tokens'>, number>> {
  return {
    x: hiddenSize,
    h: hiddenSize,
    q: heads * headSize,
    k: kvHeads * headSize,
    v: kvHeads * headSize,
    attended: heads * headSize,
    gate: ffnSize,
    up: ffnSize,
    largest: heads,
    totals: heads,
    angles: ropeDimensions,
  };
}

/**
 * Allocates memory for up to `most` tokens.
 * @param ropeDimensions values of a head that are rotated
 * @returns a function that gives the part for a number of tokens; the same object for the same number
 */
export function createActivations(
  kernels: { readonly vector: (values: number) => Vector },
  shape: Shape,
  ropeDimensions: number,
  most: number,
): (tokens: number) => Activations {
  const buffer = (width: number): ((tokens: number) => Vector) => {
    const whole = kernels.vector(most * width);
    return (tokens) => whole.slice(0, tokens * width);
  };
  const widths = activationWidths(shape, ropeDimensions);
  const [x, h, q, k, v] = [buffer(widths.x), buffer(widths.h), buffer(widths.q), buffer(widths.k), buffer(widths.v)];
  const [attended, gate, up] = [buffer(widths.attended), buffer(widths.gate), buffer(widths.up)];
  const [largest, totals, angles] = [buffer(widths.largest), buffer(widths.totals), buffer(widths.angles)];
  const part = (n: number): Activations => ({
    tokens: n,
    x: x(n),
    h: h(n),
    q: q(n),
    k: k(n),
    v: v(n),
    attended: attended(n),
    gate: gate(n),
    up: up(n),
    largest: largest(n),
    totals: totals(n),
    angles: angles(n),
  });
  let last = part(most);
  return (tokens) => {
    if (tokens !== last.tokens) last = part(tokens);
    return last;
  };
}
