import { gpuTask } from '../../engine/cost/chip/gpu.ts';
import { type MatrixProduct, npuTask, onChipShare, promptSpeed } from '../../engine/cost/chip/npu.ts';
import { type ChipDevice, chipDevice } from '../../engine/hardware/chip.ts';
import type { Cluster } from '../../engine/hardware/cluster.ts';
import type { Device } from '../../engine/hardware/device.ts';

/** The chip of a phone. @throws InputError if the first device has none */
export function chipOf({ devices }: Cluster): ChipDevice {
  return chipDevice(devices[0] as Device);
}

const FP16 = 2;

/** FLOPs of a product. */
export function flopsOf({ rows, inner, columns }: MatrixProduct): number {
  return 2 * rows * inner * columns;
}

/** Seconds of a product in FP16 on each processor, alone on the chip. */
export interface ProductTimes {
  readonly npu: number;
  /** The same product with the operands exchanged: the long one stands still. */
  readonly reversed: number;
  readonly gpu: number;
  /** Share of the NPU's arithmetic that is spent on padding to whole tiles. */
  readonly padding: number;
  /** Share of the stationary operand that stays on chip. */
  readonly onChip: number;
}

/** A product [M, N] × [N, K] on both processors (HeteroLLM 3.1, 3.2). */
export function productTimes(device: ChipDevice, product: MatrixProduct): ProductTimes {
  const { rows, inner, columns } = product;
  const speed = promptSpeed(device);
  const pad = (size: number): number => Math.ceil(size / speed.array.tile) * speed.array.tile;
  const bytes = FP16 * (rows * inner + inner * columns + rows * columns);
  const rates = { flops: device.gpu.flops.F16, bandwidth: device.gpu.bandwidth };
  return {
    npu: npuTask(product, speed).seconds,
    reversed: npuTask({ rows: columns, inner, columns: rows }, speed).seconds,
    gpu: gpuTask({ flops: flopsOf(product), bytes }, rates).seconds,
    padding: 1 - (rows * inner * columns) / (pad(rows) * pad(inner) * pad(columns)),
    onChip: onChipShare(product, speed),
  };
}
