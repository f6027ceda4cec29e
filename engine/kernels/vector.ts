/**
 * Floats that kernels read and write, or a slice of them. `values` is a view of the same memory, valid between runs.
 */
export interface Vector {
  /** The whole vector's number in its kernels. */
  readonly id: number;
  /** First value of this slice in the whole vector. */
  readonly offset: number;
  readonly values: Float32Array;
  /** The slice from `begin` up to, but not including, `end`; it shares the memory. */
  slice(begin: number, end: number): Vector;
}

/** @throws RangeError from `slice` for a range outside the vector */
export function vectorOver(id: number, values: Float32Array, offset = 0): Vector {
  return {
    id,
    offset,
    values,
    slice(begin, end) {
      if (!(begin >= 0 && begin <= end && end <= values.length)) {
        throw new RangeError(`slice ${begin} to ${end} of a vector of ${values.length}`);
      }
      return vectorOver(id, values.subarray(begin, end), offset + begin);
    },
  };
}
