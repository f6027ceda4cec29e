import { checkShape, type PartShape } from '../cost/chip/part-times.ts';
import type { Kernels } from '../kernels/kernels.ts';
import { quantizedBytes } from '../model/quantization.ts';

export interface BackendTimesOptions {
  /** Runs of each shape; default 5. The shortest counts, since other work only adds time. */
  readonly repeats?: number;
  /** Shortest run that is timed, in seconds; default 0.5 ms. */
  readonly leastSeconds?: number;
}

/** A byte that makes a reasonable weight and a reasonable scale at any position in a block. */
const WEIGHT_BYTE = 0x2a;

/**
 * Measures products on this machine's own kernels with 4-bit weights (Q4_0). A run repeats the product until it lasts
 * long enough to be timed.
 * @returns a function that measures the seconds of one product of a shape; it throws InputError for an invalid shape
 */
export function createBackendTimes(
  kernels: Kernels,
  { repeats = 5, leastSeconds = 5e-4 }: BackendTimesOptions = {},
): (shape: PartShape) => number {
  return (shape) => {
    checkShape(shape);
    const { rows, columns, tokens } = shape;
    const source = new Uint8Array(rows * quantizedBytes(columns, 'Q4_0')).fill(WEIGHT_BYTE);
    const matrix = kernels.matrix({ source, type: 'Q4_0', rows, columns });
    const x = kernels.vector(new Float32Array(tokens * columns).fill(0.01));
    const y = kernels.vector(tokens * rows);
    const product = { kind: 'multiply', matrix, x, y } as const;
    const time = (products: number): number => {
      const operations = Array.from({ length: products }, () => product);
      const start = performance.now();
      kernels.run(operations);
      return (performance.now() - start) / 1e3;
    };
    let products = 1;
    for (let took = time(1); took < leastSeconds; took = time(products)) products *= 2;
    return Math.min(...Array.from({ length: repeats }, () => time(products) / products));
  };
}
