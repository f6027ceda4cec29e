import { gpuTask } from '../../engine/cost/chip/gpu.ts';
import { graphSeconds, type MatrixProduct, npuProduct, npuTask, promptSpeed } from '../../engine/cost/chip/npu.ts';
import type { ChipDevice } from '../../engine/hardware/chip.ts';
import { ORDER_COLUMNS } from '../papers/heterollm/order.ts';

/** A line of a figure: values over sizes. */
export interface Curve {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** A point that the paper states in words, and the model's value there. */
export interface StatedPoint {
  readonly figure: string;
  readonly what: string;
  readonly published: string;
  readonly model: string;
}

const FP16 = 2;

const sizes = (from: number, to: number, step: number): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);
const doubling = (from: number, to: number): number[] =>
  Array.from({ length: Math.log2(to / from) + 1 }, (_, index) => from * 2 ** index);

/** Fig. 2: TFLOP/s of the GPU for [n, n] × [n, n] in FP16. */
export function gpuCurve({ gpu }: ChipDevice): Curve {
  const x = sizes(8, 512, 8);
  const rate = (n: number): number => {
    const flops = 2 * n ** 3;
    const rates = { flops: gpu.flops.F16, bandwidth: gpu.bandwidth };
    return flops / gpuTask({ flops, bytes: 3 * FP16 * n ** 2 }, rates).seconds;
  };
  return { name: 'GPU, [n, n] × [n, n]', x, y: x.map((n) => rate(n) / 1e12) };
}

/** n from which the GPU's rate is constant: arithmetic and traffic take the same time. */
export function gpuThreshold({ gpu }: ChipDevice): number {
  return (3 * FP16 * gpu.flops.F16) / (2 * gpu.bandwidth);
}

function npuRate(device: ChipDevice, product: MatrixProduct): number {
  return (2 * product.rows * product.inner * product.columns) / npuTask(product, promptSpeed(device)).seconds;
}

/** Fig. 4: µs of an NPU for [n, 64] × [64, n]: one step per tile. */
export function stageCurve(device: ChipDevice): Curve {
  const x = sizes(1, 200, 1);
  const speed = promptSpeed(device);
  return {
    name: 'NPU, [n, 64] × [64, n]',
    x,
    y: x.map((n) => 1e6 * npuProduct({ rows: n, inner: 64, columns: n }, speed).seconds),
  };
}

/** Fig. 5: TFLOP/s of the NPU against K: two shapes in their order, and the first in reverse. */
export function orderCurves(device: ChipDevice): Curve[] {
  const x = ORDER_COLUMNS;
  const curve = (name: string, rate: (columns: number) => number): Curve => ({
    name,
    x,
    y: x.map((columns) => rate(columns) / 1e12),
  });
  return [
    curve('[14336, 4096] × [4096, K]', (k) => npuRate(device, { rows: 14336, inner: 4096, columns: k })),
    curve('[4096, 14336] × [14336, K]', (k) => npuRate(device, { rows: 4096, inner: 14336, columns: k })),
    curve('[K, 4096] × [4096, 14336]', (k) => npuRate(device, { rows: k, inner: 4096, columns: 14336 })),
  ];
}

/** The least FLOP/s of [K, 4096] × [4096, 14336]. */
export function worstOrderRate(device: ChipDevice): number {
  return Math.min(...ORDER_COLUMNS.map((rows) => npuRate(device, { rows, inner: 4096, columns: 14336 })));
}

/** Fig. 9: ms to generate the graph of one operator of Llama-8B against the tokens. */
export function graphCurves(device: ChipDevice, x: readonly number[] = doubling(32, 1024)): Curve[] {
  const shapes = [
    ['qkv, 6144 × 4096', 6144, 4096],
    ['attention-output, 4096 × 4096', 4096, 4096],
    ['gate-up, 28672 × 4096', 28672, 4096],
    ['down, 4096 × 14336', 4096, 14336],
  ] as const;
  return shapes.map(([name, rows, columns]) => ({
    name,
    x,
    y: x.map((tokens) => 1000 * graphSeconds({ rows, columns }, tokens, device.soc.npu)),
  }));
}
