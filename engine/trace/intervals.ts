/** A stretch of time, seconds; end ≥ start. */
export interface Interval {
  readonly start: number;
  readonly end: number;
}

/** The union of intervals: in order of time, none touching another. */
export function unite(intervals: readonly Interval[]): Interval[] {
  const united: { start: number; end: number }[] = [];
  for (const { start, end } of intervals.toSorted((a, b) => a.start - b.start)) {
    const last = united.at(-1);
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else united.push({ start, end });
  }
  return united;
}

/** Length of the union. */
export function coveredSeconds(intervals: readonly Interval[]): number {
  return unite(intervals).reduce((sum, { start, end }) => sum + end - start, 0);
}

/** The parts of each interval that lie within `bounds`, a union. */
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

/** By halving, for a trace may have many. */
function firstEndingAfter(union: readonly Interval[], time: number): number {
  let [low, high] = [0, union.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((union[middle] as Interval).end > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
