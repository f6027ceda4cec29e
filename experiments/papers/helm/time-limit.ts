import { findPublished, type PublishedCell } from '../../../datasets/published.ts';

/** A printed limit below the model's own, and the seconds after which decoding would have to end to give it. */
export interface LimitSeconds {
  readonly cell: PublishedCell;
  /** Seconds of the longest output that succeeded, and of the one of twice the length, which didn't. */
  readonly from: number;
  readonly to: number;
}

/**
 * The baselines' limits of Fig. 6.1 as durations, by the thesis's own throughput (Table 6.1): tokens / throughput for the
 * longest output that was reached, twice that for the next. Systems that reach the model's own limit bound nothing.
 */
export function limitSeconds(cells: readonly PublishedCell[], most: number): LimitSeconds[] {
  return findPublished(cells, { metric: 'context' }).flatMap((cell): LimitSeconds[] => {
    const { cluster, model, system, value, basis } = cell;
    if (basis !== 'measured' || system === 'helm' || typeof value !== 'number' || value >= most) return [];
    const [speed] = findPublished(cells, { cluster, model, system, metric: 'throughput' }).filter(
      ({ table }) => table === 'Table 6.1',
    );
    if (typeof speed?.value !== 'number') return [];
    return [{ cell, from: value / speed.value, to: (2 * value) / speed.value }];
  });
}

/** The durations that give all limits; undefined where none does. */
export function commonSeconds(limits: readonly LimitSeconds[]): readonly [number, number] | undefined {
  const from = Math.max(...limits.map((limit) => limit.from));
  const to = Math.min(...limits.map((limit) => limit.to));
  return limits.length > 0 && from < to ? [from, to] : undefined;
}
