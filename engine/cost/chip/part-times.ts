import { InputError } from '../../input/input-error.ts';
import type { Operator } from '../../model/operators.ts';

/**
 * Seconds of a processor's part of an operator, alone on the chip, from the profiler of HeteroLLM's solver (4.3).
 * Without a profile, the closed forms of GPU and NPU are used.
 */
export interface PartTimes {
  /** Seconds of one kernel: the first `rows` rows of an operator for `tokens` tokens. */
  readonly gpu: (operator: Operator, rows: number, tokens: number) => number;
  /** Seconds of the same product in one graph of `tokens` tokens. */
  readonly npu: (operator: Operator, rows: number, tokens: number) => number;
  /**
   * The share of its speed that each processor keeps while the other computes, where that was measured, one half or more;
   * otherwise the two share the memory's bandwidth.
   */
  readonly paces?: { readonly gpu: number; readonly npu: number };
}

/** A product by its sizes: [rows, columns] × [columns, tokens]. */
export interface PartShape {
  readonly rows: number;
  readonly columns: number;
  readonly tokens: number;
}

/** The largest value of each size. Assumed: far above any vocabulary, inner size or prompt. */
export const LARGEST_SIZE = 2 ** 24;

/** @throws InputError for a size that is not a whole number between 1 and 2²⁴ */
export function checkShape(shape: PartShape): void {
  for (const [name, size] of Object.entries(shape)) {
    if (Number.isInteger(size) && size >= 1 && size <= LARGEST_SIZE) continue;
    const where = `shape ${shapeText(shape)}`;
    throw new InputError(where, `has ${size} ${name}; each size is a whole number between 1 and ${LARGEST_SIZE}`);
  }
}

/** `4096 × 4096, 32 tokens` */
export function shapeText({ rows, columns, tokens }: PartShape): string {
  return `${rows} × ${columns}, ${tokens} token${tokens === 1 ? '' : 's'}`;
}
