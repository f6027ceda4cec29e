/**
 * Floats that kernels read and write, or a part of them. `values` is a view of the same memory, valid at any time
 * between two runs.
 */
export interface Vector {
  /** Number of the whole vector within its kernels. */
  readonly id: number;
  /** Where this part begins in the whole vector. */
  readonly offset: number;
  readonly values: Float32Array;
  /** The part from `begin` up to, not including, `end`: the same memory. */
  slice(begin: number, end: number): Vector;
}

/** @throws RangeError from `slice` for a part that the vector doesn't have */
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
