import type { Interval } from './intervals.ts';

/**
 * Rows on which intervals can be drawn without overlap: the row of each, from 0 on. By start, then end, then position,
 * each takes the first row that is free, so the same intervals always get the same rows, and no more than are needed.
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
