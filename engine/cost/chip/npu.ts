import type { ChipDevice } from '../../hardware/chip.ts';
import type { NpuArray } from '../../hardware/device.ts';
import type { Operator } from '../../model/operators.ts';
import type { Task } from './shared-memory.ts';

/** A product [M, N] × [N, K]: rows M, inner N, columns K. On an NPU the right operand is stationary in the array. */
export interface MatrixProduct {
  readonly rows: number;
  readonly inner: number;
  readonly columns: number;
}

/** The properties of an NPU that a product's time depends on. */
export interface NpuSpeed {
  /** FLOP per second of the whole array. */
  readonly flops: number;
  /** Bytes per second from the memory outside the chip. */
  readonly bandwidth: number;
  readonly array: Pick<NpuArray, 'tile' | 'onChip'>;
  /** Bytes of a value of the stationary operand. */
  readonly valueBytes: number;
  /** Columns that the on-chip memory is laid out for, if more than the product has. */
  readonly layoutColumns: number;
}

/**
 * The share of the stationary operand [N, K] that stays on chip: min(1, C / (b N max(K, K_layout))) with C bytes of
 * on-chip memory and b bytes a value. The layout is that of the longest graph of an operator, since graphs are static
 * and share one memory plan (assumed; HeteroLLM says only that a larger stationary operand undermines its reuse, 3.2).
 */
export function onChipShare({ inner, columns }: Omit<MatrixProduct, 'rows'>, speed: Omit<NpuSpeed, 'flops'>): number {
  const { array, valueBytes, layoutColumns } = speed;
  const widest = Math.max(padded(columns, array.tile), layoutColumns);
  return Math.min(1, array.onChip / (valueBytes * padded(inner, array.tile) * widest));
}

function padded(size: number, tile: number): number {
  return Math.ceil(size / tile) * tile;
}

/** Seconds of a product on an array, and the bytes of its stationary operand that are fetched after the first time. */
export interface NpuProduct {
  readonly seconds: number;
  /** Seconds of its arithmetic; in the others it waits for tiles. */
  readonly calculating: number;
  readonly refetched: number;
}

/**
 * A product on a systolic array of T × T whose right operand stands still (HeteroLLM 3.2). It is cut into tiles of T in
 * every dimension; T rows of the left operand pass through a tile, then the next tile takes its place. A tile that
 * stays on chip is loaded while the one before works; any other is fetched from memory first, b T² bytes:
 *
 *   ⌈M/T⌉ ⌈N/T⌉ ⌈K/T⌉ (2T³ / flops + (1 − s) b T² / bandwidth), s = onChipShare
 *
 * Stage performance: the time is a staircase in every dimension. Order-sensitive: a large right operand doesn't stay on
 * chip, and at worst (s = 0) each value is fetched for 2T FLOPs: with b = 2, T FLOPs a byte, the level of a mobile GPU.
 * Shape-sensitive: the longer the inner dimension beyond what stays on chip, the slower.
 */
export function npuProduct(product: MatrixProduct, speed: NpuSpeed): NpuProduct {
  const { flops, bandwidth, array, valueBytes } = speed;
  const { tile } = array;
  const stationary = Math.ceil(product.inner / tile) * Math.ceil(product.columns / tile);
  const passes = Math.ceil(product.rows / tile) * stationary;
  const missing = (1 - onChipShare(product, speed)) * valueBytes * tile ** 2;
  const calculating = (passes * 2 * tile ** 3) / flops;
  return {
    seconds: calculating + (passes * missing) / bandwidth,
    calculating,
    refetched: (passes - stationary) * missing,
  };
}

/** Bytes of a value in FP16. */
const FP16 = 2;

/** A chip's NPU as products of prompts find it, in FP16, with the memory laid out for the longest graph. */
export function promptSpeed({ npu, soc }: Pick<ChipDevice, 'npu' | 'soc'>): NpuSpeed {
  return {
    flops: npu.flops.F16,
    bandwidth: npu.bandwidth,
    array: soc.npu,
    valueBytes: FP16,
    layoutColumns: soc.npu.longestGraph,
  };
}

/**
 * A product whose operands and result lie in memory, as HeteroLLM measures NPUs (3.2, Figs. 4 and 5): the array's time, or
 * that of the traffic, whichever is longer.
 */
export function npuTask(product: MatrixProduct, speed: NpuSpeed): Task {
  const { rows, inner, columns } = product;
  const { seconds, refetched } = npuProduct(product, speed);
  const bytes = speed.valueBytes * (rows * inner + inner * columns + rows * columns) + refetched;
  return { seconds: Math.max(seconds, bytes / speed.bandwidth), bytes };
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
  return graphBase + (2 * padded(rows, tile) * padded(columns, tile) * padded(tokens, tile)) / graphRate;
}
