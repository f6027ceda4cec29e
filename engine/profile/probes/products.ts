import type { Matrix } from '../../kernels/matrix.ts';
import type { MultiplyOperation, Operation } from '../../kernels/operation.ts';
import { type Quantization, quantizedBytes } from '../../model/quantization.ts';
import { type Bench, isCpu, secondsPerOperations } from './bench.ts';

/**
 * Weights as in a layer of a model of about a billion: three quarters multiply hidden states, a quarter the inner values
 * of the feed-forward network, which are so wide that those of a few tokens don't fit into a first-level cache.
 */
const HIDDEN = { rows: 3072, columns: 2048 };
const INNER = { rows: 384, columns: 5632 };
const WEIGHTS = HIDDEN.rows * HIDDEN.columns + INNER.rows * INNER.columns;
/**
 * Tokens of a prompt that are multiplied at once: enough for kernels to share the unpacking of weights among tokens.
 */
export const PROMPT_TOKENS = 128;
/** Tokens of a short prompt that fill whole packs of a CPU, and a tile of a GPU. */
export const FEW_PROMPT_TOKENS = 32;
/** Generated tokens of a pass, between which kernels change how many of them they multiply side by side. */
export const GENERATED_TOKENS = [2, 4, 8, 16] as const;

/**
 * Number of result vectors used in rotation: products of one token can overlap on a GPU, and those of a prompt don't
 * find the previous results in a cache, as in a real layer.
 */
const RESULTS = { one: 64, prompt: 4 };

/** Measures the seconds per weight of a product with one token's vector, as in decode: weights come from memory. */
export function vectorProducts(bench: Bench, type: Quantization): () => Promise<number> {
  return products(bench, type, 1);
}

/** Measures the seconds per weight and token of a product with many tokens, as in prefill. */
export function matrixProducts(bench: Bench, type: Quantization): () => Promise<number> {
  const measure = products(bench, type, PROMPT_TOKENS);
  return async () => (await measure()) / PROMPT_TOKENS;
}

/** Measures the seconds per weight of a product with so many generated tokens of as many texts. */
export function generatedProducts(bench: Bench, type: Quantization, tokens: number): () => Promise<number> {
  return products(bench, type, tokens, 'singly');
}

/** Measures the seconds per weight of a product with the tokens of a short prompt, or of the end of a longer one. */
export function packedProducts(bench: Bench, type: Quantization, tokens: number): () => Promise<number> {
  return products(bench, type, tokens, 'together');
}

/** The matrices follow one another through the file, so that caches have evicted each before it is used again. */
function products(
  bench: Bench,
  type: Quantization,
  tokens: number,
  multiplied?: MultiplyOperation['multiplied'],
): () => Promise<number> {
  const { kernels, weights, weightBytes } = bench;
  const innerAt = HIDDEN.rows * quantizedBytes(HIDDEN.columns, type);
  const bytes = innerAt + INNER.rows * quantizedBytes(INNER.columns, type);
  const matrices = Array.from({ length: Math.floor(weightBytes / bytes) }, (_, index) => ({
    ofHidden: kernels.matrix({ source: weights, offset: index * bytes, type, ...HIDDEN }),
    ofInner: kernels.matrix({ source: weights, offset: index * bytes + innerAt, type, ...INNER }),
  }));
  const filled = (values: number) => kernels.vector(new Float32Array(values).fill(0.01));
  const [stream, hidden, inner] = [HIDDEN.columns, HIDDEN.columns, INNER.columns].map((width) =>
    filled(tokens * width),
  ) as [ReturnType<typeof filled>, ReturnType<typeof filled>, ReturnType<typeof filled>];
  const weight = filled(HIDDEN.columns);
  const norm: Operation = { kind: 'rms-norm', x: stream, weight, y: hidden, epsilon: 1e-5 };
  // A CPU then waits for all its threads, and rounds hidden states anew, about as often as in a layer.
  const before = isCpu(bench) ? [norm] : [];
  const results = tokens === 1 ? RESULTS.one : RESULTS.prompt;
  const width = HIDDEN.rows + INNER.rows;
  const y = kernels.vector(results * tokens * width);
  const parts = Array.from({ length: results }, (_, at) => {
    const [begin, end] = [at * tokens * width, (at + 1) * tokens * width];
    const middle = begin + tokens * HIDDEN.rows;
    return { ofHidden: y.slice(begin, middle), ofInner: y.slice(middle, end) };
  });
  const perUnit = secondsPerOperations(bench, (index) => {
    const { ofHidden, ofInner } = matrices[index % matrices.length] as Record<'ofHidden' | 'ofInner', Matrix>;
    const to = parts[index % results] as (typeof parts)[number];
    return [
      ...before,
      { kind: 'multiply', matrix: ofHidden, x: hidden, y: to.ofHidden, multiplied },
      { kind: 'multiply', matrix: ofInner, x: inner, y: to.ofInner, multiplied },
    ];
  });
  return async () => (await perUnit()) / WEIGHTS;
}
