/** Bytes of a mapped file: `from` up to, not including, `to`. */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Extents of a file, the pieces that the page cache keeps track of: `from` up to, not including, `to`. */
export interface Span {
  from: number;
  to: number;
}

/** Index of the first span that ends after `position`, in spans sorted by position that don't overlap; O(log n). */
export function firstEndingAfter(spans: readonly Span[], position: number): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle] as Span).to > position) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Adds extents to a sorted set of spans; spans that touch become one. */
export function addSpan(spans: Span[], { from, to }: Span): void {
  if (from >= to) return;
  const first = firstEndingAfter(spans, from - 1);
  const own = spans[first];
  if (own !== undefined && own.from <= from && (spans[first + 1]?.from ?? Number.POSITIVE_INFINITY) > to) {
    own.to = Math.max(own.to, to);
    return;
  }
  let next = first;
  const sum = { from, to };
  for (let span = spans[next]; span !== undefined && span.from <= to; span = spans[++next]) {
    sum.from = Math.min(sum.from, span.from);
    sum.to = Math.max(sum.to, span.to);
  }
  spans.splice(first, next - first, sum);
}

/** Removes extents from a sorted set of spans. */
export function removeSpan(spans: Span[], { from, to }: Span): void {
  const first = firstEndingAfter(spans, from);
  let next = first;
  const own = spans[first];
  if (own === undefined || own.from >= to) return;
  if (own.from >= from && own.to > to) {
    own.from = to;
    return;
  }
  const rest: Span[] = [];
  for (let span = spans[next]; span !== undefined && span.from < to; span = spans[++next]) {
    if (span.from < from) rest.push({ from: span.from, to: from });
    if (span.to > to) rest.push({ from: to, to: span.to });
  }
  spans.splice(first, next - first, ...rest);
}

/** Size of the extents from one to, not including, another. */
export type BytesOf = (from: number, to: number) => number;

/** Bytes of a span that lie in a sorted set of spans. */
export function commonBytes(spans: readonly Span[], { from, to }: Span, bytesOf: BytesOf): number {
  let bytes = 0;
  let index = firstEndingAfter(spans, from);
  for (let span = spans[index]; span !== undefined && span.from < to; span = spans[++index]) {
    bytes += bytesOf(Math.max(span.from, from), Math.min(span.to, to));
  }
  return bytes;
}

/** The parts of a span that lie in a sorted set of spans, and those that don't, in order. */
export function splitBySet(spans: readonly Span[], { from, to }: Span): (Span & { inside: boolean })[] {
  const parts: (Span & { inside: boolean })[] = [];
  let position = from;
  for (let index = firstEndingAfter(spans, from); position < to; index++) {
    const span = spans[index] ?? { from: to, to };
    const start = Math.min(to, Math.max(position, span.from));
    const end = Math.min(to, span.to);
    if (position < start) parts.push({ from: position, to: start, inside: false });
    if (start < end) parts.push({ from: start, to: end, inside: true });
    position = end;
  }
  return parts;
}

/** Converts bytes of one file to extents and back. */
export interface ExtentGrid {
  /** Every extent that a range touches. @throws RangeError for a range that leaves the file by a byte or more */
  outward(range: ByteRange): Span;
  /** The extents that lie completely in a range. @throws RangeError as `outward` */
  inward(range: ByteRange): Span;
  toBytes(span: Span): ByteRange;
}

export function createExtentGrid(size: number, extentBytes: number): ExtentGrid {
  const extents = Math.ceil(size / extentBytes);
  /** Sums of layer sizes are rounded: an end within a byte of the file's end counts as the file's end. */
  const check = ({ from, to }: ByteRange): ByteRange => {
    if (!(from >= 0 && from <= to && to < size + 1))
      throw new RangeError(`bytes ${from} to ${to} aren’t a range of a file of ${size} bytes`);
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
