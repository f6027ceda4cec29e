import type { Kernels } from '../../../engine/kernels/kernels.ts';
import type { Matrix } from '../../../engine/kernels/matrix.ts';
import type { Operation } from '../../../engine/kernels/operation.ts';
import type { Vector } from '../../../engine/kernels/vector.ts';

/** Sizes of the attention of a batch of texts of the same length. */
export interface AttentionShape {
  readonly texts: number;
  /** Tokens of a text. */
  readonly length: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly headSize: number;
}

/** Queries: [tokens][heads][headSize]; keys and values: [tokens][kvHeads][headSize]. */
export interface QueriesKeysValues {
  readonly q: Float32Array;
  readonly k: Float32Array;
  readonly v: Float32Array;
}

/** Causal attention and its gradients. */
export interface Attention {
  /**
   * y = softmax(q·Kᵀ/√headSize)·V.
   * @param weights filled with the softmax: [texts][heads][tokens][positions], 0 for later positions
   */
  forward(inputs: QueriesKeysValues, weights: Float32Array, y: Float32Array): void;
  /** The gradients of queries, keys and values, which take the place of what is in `gradients`. */
  backward(inputs: QueriesKeysValues, weights: Float32Array, dy: Float32Array, gradients: QueriesKeysValues): void;
}

/** Every product is the kernels' `multiply`, head by head, of copies in the order that it takes. */
export function createAttention(kernels: Kernels, shape: AttentionShape): Attention {
  const { texts, length, heads, kvHeads, headSize } = shape;
  const count = texts * heads;
  const narrow = length * headSize;
  const scale = 1 / Math.sqrt(headSize);
  const square = length * length;
  const rowsOf = (values: Float32Array) => matrices(kernels, values, { count, rows: length, columns: headSize });
  const columnsOf = (values: Float32Array) => matrices(kernels, values, { count, rows: headSize, columns: length });
  const copies = (): Float32Array => new Float32Array(count * narrow);
  const [k, kT, v, vT, qT, dyT] = [copies(), copies(), copies(), copies(), copies(), copies()] as const;
  const [kRows, vRows] = [rowsOf(k), rowsOf(v)];
  const [kColumns, vColumns, qColumns, dyColumns] = [columnsOf(kT), columnsOf(vT), columnsOf(qT), columnsOf(dyT)];
  const [tokens, result] = [kernels.vector(count * narrow), kernels.vector(count * narrow)];
  const [scores, turned] = [kernels.vector(count * square), kernels.vector(count * square)];
  const queryOf = { shape, perToken: heads, headOf: (head: number) => head };
  const keyOf = { shape, perToken: kvHeads, headOf: (head: number) => Math.floor((head * kvHeads) / heads) };

  const multiply = (matrix: readonly Matrix[], x: Vector, y: Vector): void =>
    kernels.run(
      matrix.map((one, index): Operation => {
        const part = (vector: Vector): Vector => {
          const size = vector.values.length / count;
          return vector.slice(index * size, (index + 1) * size);
        };
        return { kind: 'multiply', matrix: one, x: part(x), y: part(y) };
      }),
    );

  return {
    forward(inputs, weights, y) {
      gather(inputs.q, queryOf, { rows: tokens.values });
      gather(inputs.k, keyOf, { rows: k });
      gather(inputs.v, keyOf, { columns: vT });
      multiply(kRows, tokens, scores);
      softmaxOfPast(scores.values, length, scale);
      weights.set(scores.values);
      multiply(vColumns, scores, result);
      y.fill(0);
      scatter(result.values, queryOf, y);
    },
    backward(inputs, weights, dy, gradients) {
      gather(dy, queryOf, { rows: tokens.values, columns: dyT });
      gather(inputs.q, queryOf, { columns: qT });
      gather(inputs.k, keyOf, { columns: kT });
      gather(inputs.v, keyOf, { rows: v });
      for (const gradient of [gradients.q, gradients.k, gradients.v]) gradient.fill(0);
      transposeSquares(weights, turned.values, length);
      multiply(dyColumns, turned, result);
      scatter(result.values, keyOf, gradients.v);
      multiply(vRows, tokens, scores);
      softmaxGradient(scores.values, weights, length, scale);
      multiply(kColumns, scores, result);
      scatter(result.values, queryOf, gradients.q);
      transposeSquares(scores.values, turned.values, length);
      multiply(qColumns, turned, result);
      scatter(result.values, keyOf, gradients.k);
    },
  };
}

interface MatrixSizes {
  readonly count: number;
  readonly rows: number;
  readonly columns: number;
}

function matrices(kernels: Kernels, values: Float32Array, { count, rows, columns }: MatrixSizes): Matrix[] {
  const source = new Uint8Array(values.buffer);
  return Array.from({ length: count }, (_, index) =>
    kernels.matrix({ source, offset: 4 * index * rows * columns, type: 'F32', rows, columns }),
  );
}

/** Places of query heads among the heads of a token. */
interface HeadPlaces {
  readonly shape: AttentionShape;
  readonly perToken: number;
  readonly headOf: (head: number) => number;
}

/** Copies [texts][tokens][perToken][headSize] to one matrix per text and query head, as rows, as columns, or both. */
function gather(
  from: Float32Array,
  places: HeadPlaces,
  { rows, columns }: { readonly rows?: Float32Array; readonly columns?: Float32Array },
): void {
  const { length, headSize } = places.shape;
  forHeads(places, (first, step, to) => {
    for (let token = 0; token < length; token++)
      for (let i = 0; i < headSize; i++) {
        const value = from[first + token * step + i] as number;
        if (rows !== undefined) rows[to + token * headSize + i] = value;
        if (columns !== undefined) columns[to + i * length + token] = value;
      }
  });
}

/** Adds what `gather` would have copied as rows to its place. */
function scatter(rows: Float32Array, places: HeadPlaces, to: Float32Array): void {
  const { length, headSize } = places.shape;
  forHeads(places, (first, step, from) => {
    for (let token = 0; token < length; token++)
      for (let i = 0; i < headSize; i++) to[first + token * step + i]! += rows[from + token * headSize + i] as number;
  });
}

function forHeads(
  { shape: { texts, length, heads, headSize }, perToken, headOf }: HeadPlaces,
  each: (first: number, step: number, matrix: number) => void,
): void {
  const step = perToken * headSize;
  for (let text = 0; text < texts; text++)
    for (let head = 0; head < heads; head++)
      each(text * length * step + headOf(head) * headSize, step, (text * heads + head) * length * headSize);
}

/** softmax(scale·score) over the positions up to each token's own, 0 beyond, in place. */
function softmaxOfPast(scores: Float32Array, length: number, scale: number): void {
  for (let row = 0; row < scores.length / length; row++) {
    const from = row * length;
    const own = from + (row % length);
    let largest = Number.NEGATIVE_INFINITY;
    for (let at = from; at <= own; at++) largest = Math.max(largest, scores[at] as number);
    let total = 0;
    for (let at = from; at <= own; at++) {
      const power = Math.exp(scale * ((scores[at] as number) - largest));
      scores[at] = power;
      total += power;
    }
    for (let at = from; at <= own; at++) scores[at]! /= total;
    scores.fill(0, own + 1, from + length);
  }
}

/** The gradient of the scores before softmax and scale, in the place of that of the weights. */
function softmaxGradient(gradient: Float32Array, weights: Float32Array, length: number, scale: number): void {
  for (let from = 0; from < gradient.length; from += length) {
    let mean = 0;
    for (let at = from; at < from + length; at++) mean += (weights[at] as number) * (gradient[at] as number);
    for (let at = from; at < from + length; at++)
      gradient[at] = scale * (weights[at] as number) * ((gradient[at] as number) - mean);
  }
}

function transposeSquares(from: Float32Array, to: Float32Array, length: number): void {
  for (let first = 0; first < from.length; first += length * length)
    for (let row = 0; row < length; row++)
      for (let column = 0; column < length; column++)
        to[first + column * length + row] = from[first + row * length + column] as number;
}

/**
 * Rotates adjacent pairs of each head by the token's position, or back by it (RoPE; Su et al. 2021, Eq. 34).
 * @param x [tokens][width], in place; a text's first token is at position 0
 * @param direction 1, or −1 for gradients
 */
export function rotate(
  { length, headSize }: Pick<AttentionShape, 'length' | 'headSize'>,
  { x, width, base }: { readonly x: Float32Array; readonly width: number; readonly base: number },
  direction: 1 | -1,
): void {
  for (let i = 0; i < headSize / 2; i++) {
    const frequency = base ** ((-2 * i) / headSize);
    for (let token = 0; token < x.length / width; token++) {
      const angle = direction * (token % length) * frequency;
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
      for (let at = token * width + 2 * i; at < (token + 1) * width; at += headSize) {
        const [a, b] = [x[at] as number, x[at + 1] as number];
        x[at] = a * cosine - b * sine;
        x[at + 1] = a * sine + b * cosine;
      }
    }
  }
}
