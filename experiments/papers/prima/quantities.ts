import type { Outcome, PublishedCell } from '../../../datasets/published.ts';

/** What is reproduced: seconds per token, seconds to the first token, or a share of a device's memory. */
export const METRICS = ['tpot', 'ttft', 'memory-pressure'] as const;
export type Metric = (typeof METRICS)[number];

/** A result in SI (seconds, or a share), or what a table prints in its place. */
export type Quantity = number | Outcome;

const FACTORS: Readonly<Record<string, number>> = { ms: 1e-3, s: 1, '%': 1e-2 };

/** What a cell is about; undefined where it isn't a result of a system. */
export function metricOf({ metric }: PublishedCell): Metric | undefined {
  return METRICS.find((name) => name === metric);
}

/** A cell's value in SI. @throws RangeError for a unit that none of the metrics has */
export function quantityOf({ value, unit }: PublishedCell): Quantity {
  if (typeof value !== 'number') return value;
  const factor = FACTORS[unit];
  if (factor === undefined) throw new RangeError(`"${unit}" is not a unit of a time or a share`);
  return value * factor;
}

/** The paper prints `≤`: less is no error. */
export function isUpperBound({ note }: PublishedCell): boolean {
  return note.startsWith('upper bound');
}

/**
 * How far a result lies from the cell, with its sign: of times the share of the published one, of shares of memory the
 * difference (0.01 is a point). What keeps an upper bound has no error; undefined where one of them is no number.
 */
export function errorOf(found: Quantity | undefined, cell: PublishedCell): number | undefined {
  const published = quantityOf(cell);
  if (typeof found !== 'number' || typeof published !== 'number' || published === 0) return undefined;
  const error = metricOf(cell) === 'memory-pressure' ? found - published : found / published - 1;
  return isUpperBound(cell) ? Math.max(0, error) : error;
}
