import { checkShape, type PartShape } from '../cost/chip/part-times.ts';
import type { Kernels } from '../kernels/kernels.ts';
import { quantizedBytes } from '../model/quantization.ts';

export interface BackendTimesOptions {
  /** Runs of each shape, the shortest of which counts, since other work only adds time; 5 unless given. */
  readonly repeats?: number;
  /** Seconds; 0.5 ms unless given. */
  readonly leastSeconds?: number;
}

/** A byte that is a sane weight and a sane scale wherever it stands in a block. */
const WEIGHT_BYTE = 0x2a;

/**
 * Profiles products on this machine's own kernels: weights in 4 bits (Q4_0), as many products in a run as last long enough
 * to be timed.
 * @returns seconds of one product of a shape
 * @throws InputError, when asked, for a shape that can't be
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
