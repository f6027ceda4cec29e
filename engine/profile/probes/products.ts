import type { Matrix } from '../../kernels/matrix.ts';
import type { Vector } from '../../kernels/vector.ts';
import { type Quantization, quantizedBytes } from '../../model/quantization.ts';
import { type Bench, secondsPerOperation } from './bench.ts';

/** A matrix of a model of some billion weights. */
export const ROWS = 4096;
export const COLUMNS = 2048;
/** A prompt's tokens that are multiplied at once: enough for kernels that share out the unpacking of weights. */
export const PROMPT_TOKENS = 128;

/**
 * Results that lie one after another before the first is written again: products of one token are then free to overlap, and
 * those of a prompt don't find the last one's results in a cache, as in a layer.
 */
const RESULTS = { one: 64, prompt: 4 };

/** Seconds per weight of the product with one token's vector, as in decode: weights come from memory. */
export function vectorProducts(bench: Bench, type: Quantization): () => number {
  return products(bench, type, 1);
}

/** Seconds per weight and token of the product with many tokens, as in prefill. */
export function matrixProducts(bench: Bench, type: Quantization): () => number {
  const measure = products(bench, type, PROMPT_TOKENS);
  return () => measure() / PROMPT_TOKENS;
}

/** Matrices one after another through the whole file, so that each comes back long after caches have lost it. */
function products(bench: Bench, type: Quantization, tokens: number): () => number {
  const { kernels, weights } = bench;
  const bytes = ROWS * quantizedBytes(COLUMNS, type);
  const matrices = Array.from({ length: Math.floor(weights.size / bytes) }, (_, index) =>
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
    // As a layer has them: gate and up, two thirds of its weights, may be rounded so.
    ...(index % 3 > 0 && { rounding: 'byte' as const }),
  }));
  return () => perMatrix() / (ROWS * COLUMNS);
}
