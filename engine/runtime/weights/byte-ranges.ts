import type { ByteRange } from '../../kernels/file-pages.ts';

/** Total bytes of all ranges. */
export function totalBytes(ranges: readonly ByteRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from, 0);
}

/** The ranges in order, joined where they overlap or have at most `gap` bytes between them. */
export function joinRanges(ranges: readonly ByteRange[], gap = 0): ByteRange[] {
  const joined: { from: number; to: number }[] = [];
  for (const { from, to } of ranges.toSorted((a, b) => a.from - b.from)) {
    const last = joined.at(-1);
    if (last !== undefined && from <= last.to + gap) last.to = Math.max(last.to, to);
    else joined.push({ from, to });
  }
  return joined;
}

/** The parts of `ranges` that are not in `others`, in order. */
export function withoutRanges(ranges: readonly ByteRange[], others: readonly ByteRange[]): ByteRange[] {
  const taken = joinRanges(others);
  return joinRanges(ranges).flatMap(({ from, to }) => {
    const left: ByteRange[] = [];
    let start = from;
    for (const other of taken) {
      if (other.to <= start || other.from >= to) continue;
      if (other.from > start) left.push({ from: start, to: other.from });
      start = other.to;
    }
    if (start < to) left.push({ from: start, to });
    return left;
  });
}
