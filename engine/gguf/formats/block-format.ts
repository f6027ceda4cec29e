import type { Weights } from './fit-scales.ts';

/**
 * How one block of a format is decoded and encoded. The docstring of each format gives its layout byte by byte; numbers
 * of several bytes are little endian, and `f16` is IEEE 754 binary16. Decoded values are float32, and each operation is
 * rounded to float32 without fused multiply-add, so that results equal those of ggml's reference bit by bit.
 */
export interface BlockFormat {
  /** Decodes the block at `bytes[at…]` to `out[to…]`. */
  readonly decode: (bytes: Uint8Array, at: number, out: Float32Array, to: number) => void;
  /**
   * Encodes `values[from…]` as the block at `bytes[at…]`. Values are finite and within ±65,504. With weights, formats
   * whose scales are fitted search longer, for the least weighted squared error.
   */
  readonly encode: (values: Float32Array, from: number, bytes: Uint8Array, at: number, weights?: Weights) => void;
}
