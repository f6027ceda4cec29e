/**
 * How one block of a format is read and written. Layouts are in the docstrings of blocks/*.ts, by byte; numbers of
 * several bytes are little endian, `f16` is IEEE 754 binary16. Values come out as float32, each operation rounded as in
 * float32 arithmetic without fused multiply-add, so that results are those of ggml's own reference, bit by bit.
 */
export interface BlockFormat {
  /** Decodes the block at `bytes[at…]` to `out[to…]`. */
  readonly decode: (bytes: Uint8Array, at: number, out: Float32Array, to: number) => void;
  /** Encodes `values[from…]` as the block at `bytes[at…]`. Values are finite and within ±65,504. */
  readonly encode: (values: Float32Array, from: number, bytes: Uint8Array, at: number) => void;
}

/** `value` rounded to a whole number and held between `low` and `high`. */
export function roundWithin(value: number, low: number, high: number): number {
  return value <= low ? low : value >= high ? high : Math.floor(value + 0.5);
}
