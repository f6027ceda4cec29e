import type { Span } from './spans.ts';

/** Bytes of the mapped file: `from` up to, not including, `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Bytes to extents of one file and back. */
export interface ExtentGrid {
  /** Every extent that a range touches. */
  outward(range: ByteRange): Span;
  /** The extents that lie in a range as a whole. */
  inward(range: ByteRange): Span;
  toBytes(span: Span): ByteRange;
}

export function createExtentGrid(size: number, extentBytes: number): ExtentGrid {
  const extents = Math.ceil(size / extentBytes);
  /** Sums of layer sizes round: an end within a byte of the file's is the file's. */
  const check = ({ from, to }: ByteRange): ByteRange => {
    if (!(from >= 0 && from <= to && to < size + 1))
      throw new RangeError(`bytes ${from} to ${to} aren't a range of a file of ${size} bytes`);
    return { from, to: Math.min(to, size) };
  };
  return {
    outward: (range) => {
      const { from, to } = check(range);
      if (from >= to) return { from: 0, to: 0 };
      return { from: Math.floor(from / extentBytes), to: Math.ceil(to / extentBytes) };
    },
    inward: (range) => {
      const { from, to } = check(range);
      const end = to >= size ? extents : Math.floor(to / extentBytes);
      return { from: Math.ceil(from / extentBytes), to: end };
    },
    toBytes: ({ from, to }) => ({ from: from * extentBytes, to: Math.min(size, to * extentBytes) }),
  };
}
