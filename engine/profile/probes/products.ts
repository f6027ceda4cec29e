import type { Matrix } from '../../kernels/matrix.ts';
import type { MultiplyOperation } from '../../kernels/operation.ts';
import type { Vector } from '../../kernels/vector.ts';
import { type Quantization, quantizedBytes } from '../../model/quantization.ts';
import { type Bench, secondsPerOperation } from './bench.ts';

/** A matrix of a model of about a billion weights. */
export const ROWS = 4096;
export const COLUMNS = 2048;
/**
 * Tokens of a prompt that are multiplied at once: enough for kernels to share the unpacking of weights among tokens.
 */
export const PROMPT_TOKENS = 128;

/**
 * Number of result vectors used in rotation: products of one token can then overlap, and those of a prompt don't find
 * the previous results in a cache, as in a real layer.
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

/** Generated tokens of a pass, between which kernels change how many of them they multiply side by side. */
export const GENERATED_TOKENS = [2, 4, 8, 16] as const;
/** Texts of the pass that tells what further texts cost beside products. */
export const SEVERAL_TEXTS = 8;
/** Tokens of a prompt that fill whole packs. */
export const FEW_PROMPT_TOKENS = 16;

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
  const bytes = ROWS * quantizedBytes(COLUMNS, type);
  const matrices = Array.from({ length: Math.floor(weightBytes / bytes) }, (_, index) =>
    kernels.matrix({ source: weights, offset: index * bytes, type, rows: ROWS, columns: COLUMNS }),
  );
  const x = kernels.vector(new Float32Array(tokens * COLUMNS).fill(0.01));
  const results = tokens === 1 ? RESULTS.one : RESULTS.prompt;
  const y = kernels.vector(results * tokens * ROWS);
  const parts = Array.from({ length: results }, (_, at) => y.slice(at * tokens * ROWS, (at + 1) * tokens * ROWS));
  const perMatrix = secondsPerOperation(bench, (index) => ({
    kind: 'multiply',
    matrix: matrices[index % matrices.length] as Matrix,
    x,
    y: parts[index % results] as Vector,
    multiplied,
  }));
  return async () => (await perMatrix()) / (ROWS * COLUMNS);
}
