/** A period in seconds; end ≥ start. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** The union of intervals, in order of time; intervals that overlap or touch are joined. */
export function unite(intervals: readonly Interval[]): Interval[] {
  const united: { start: number; end: number }[] = [];
  for (const { start, end } of intervals.toSorted((a, b) => a.start - b.start)) {
    const last = united.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else united.push({ start, end });
  }
  return united;
}

/** Seconds that the union of the intervals covers. */
export function coveredSeconds(intervals: readonly Interval[]): number {
  return unite(intervals).reduce((sum, { start, end }) => sum + end - start, 0);
}

/** The parts of each interval that lie within `bounds`, which is a union. */
export function within(intervals: readonly Interval[], bounds: readonly Interval[]): Interval[] {
  return intervals.flatMap(({ start, end }) => {
    const parts: Interval[] = [];
    for (let index = firstEndingAfter(bounds, start); index < bounds.length; index++) {
      const bound = bounds[index] as Interval;
      if (bound.start >= end) break;
      parts.push({ start: Math.max(start, bound.start), end: Math.min(end, bound.end) });
    }
    return parts;
  });
}

/** Index of the first interval that ends after `time`, by binary search, since a trace may have many intervals. */
function firstEndingAfter(union: readonly Interval[], time: number): number {
  let [low, high] = [0, union.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((union[middle] as Interval).end > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Assigns each interval a row, numbered from 0, so that intervals of one row don't overlap. Intervals are placed in
 * order of start, end and position, each on the first free row: the result is deterministic and uses as few rows as
 * possible.
 */
export function rowsWithoutOverlap(intervals: readonly Interval[]): number[] {
  const rows = intervals.map(() => 0);
  const freeFrom: number[] = [];
  const order = intervals.map((interval, index) => ({ ...interval, index }));
  order.sort((a, b) => a.start - b.start || a.end - b.end || a.index - b.index);
  for (const { start, end, index } of order) {
    const free = freeFrom.findIndex((time) => time <= start);
    const row = free < 0 ? freeFrom.length : free;
    freeFrom[row] = end;
    rows[index] = row;
  }
  return rows;
}
