import type { NpuArray } from '../../hardware/device.ts';
import type { Operator } from '../../model/operators.ts';

/** A product [M, N] × [N, K]: rows M, inner N, columns K. On an NPU the right operand is stationary in the array. */
export interface MatrixProduct {
  readonly rows: number;
  readonly inner: number;
  readonly columns: number;
}

/** The properties of an NPU that a product's compute time depends on. */
export interface NpuSpeed {
  /** FLOP per second of the whole array. */
  readonly flops: number;
  readonly array: Pick<NpuArray, 'tile' | 'tileLoad'>;
}

/**
 * Compute seconds of a product on a systolic array of T × T (HeteroLLM 3.2): the right operand is cut into
 * ⌈N/T⌉ ⌈K/T⌉ tiles; each is loaded, then all rows of the left operand, padded to ⌈M/T⌉ T, pass through it:
 *
 *   ⌈N/T⌉ ⌈K/T⌉ (load + ⌈M/T⌉ T · 2T² / flops)
 *
 * Stage performance: the time is a staircase in every dimension. Order-sensitive: few rows pay for loads that many rows
 * would share. Shape-sensitive: a longer inner dimension means more tiles for the same FLOPs.
 */
export function npuProductSeconds(product: MatrixProduct, { flops, array: { tile, tileLoad } }: NpuSpeed): number {
  const tiles = Math.ceil(product.inner / tile) * Math.ceil(product.columns / tile);
  return tiles * (tileLoad + (Math.ceil(product.rows / tile) * tile * 2 * tile ** 2) / flops);
}

/**
 * Seconds to generate an operator's graph for a number of tokens: a base, plus a time proportional to the FLOPs of the
 * padded graph, since the compiler's search space grows with the tensor (HeteroLLM 4.1.1, Fig. 9).
 */
export function graphSeconds(
  { rows, columns }: Pick<Operator, 'rows' | 'columns'>,
  tokens: number,
  { tile, graphBase, graphRate }: NpuArray,
): number {
  const pad = (size: number): number => Math.ceil(size / tile) * tile;
  return graphBase + (2 * pad(rows) * pad(columns) * pad(tokens)) / graphRate;
}
