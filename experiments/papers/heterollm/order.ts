import { type MatrixProduct, npuTask, promptSpeed } from '../../../engine/cost/chip/npu.ts';
import type { ChipDevice } from '../../../engine/hardware/chip.ts';

/** K over which the orders of Fig. 5 are compared, which the paper doesn't state: the lengths of prepared graphs. */
export const ORDER_COLUMNS = [32, 64, 128, 256, 512, 1024] as const;

/** Speed-up of [14336, 4096] × [4096, K] over [K, 4096] × [4096, 14336] on an NPU (HeteroLLM 3.2). */
export function orderGain(device: ChipDevice, columns: number): number {
  const seconds = (product: MatrixProduct): number => npuTask(product, promptSpeed(device)).seconds;
  const [rows, inner] = [14336, 4096];
  return seconds({ rows: columns, inner, columns: rows }) / seconds({ rows, inner, columns });
}

/** The most that one order is faster than the other. */
export function largestOrderGain(device: ChipDevice): number {
  return Math.max(...ORDER_COLUMNS.map((columns) => orderGain(device, columns)));
}
