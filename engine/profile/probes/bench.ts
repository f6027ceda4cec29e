import type { Kernels } from '../../kernels/kernels.ts';
import type { MappedFile } from '../../kernels/matrix.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { ProcessorClock } from '../processor-clock.ts';

/** The kernels and memory that probes use. */
export interface Bench {
  readonly kernels: Kernels;
  /** Number of the kernels' threads. */
  readonly clock: ProcessorClock;
  /** Bytes to serve as weights of any format, mapped as weights are, more than the last-level cache holds. */
  readonly weights: MappedFile;
}

/** Seconds of a run: long compared with the threads' waiting at its beginning and end. */
const LEAST_SECONDS = 0.1;
const MOST_UNITS = 4096;
/** Growth from one attempt to the next, so that a single delay doesn't decide the number of units. */
const MOST_GROWTH = 8;

/**
 * A measurement of the seconds that a unit of work takes: as many units are done in one run as last long enough to be
 * timed, which is found out at the first measurement.
 * @param prepare makes ready what does so many units, untimed
 */
export function secondsPerUnit({ time }: ProcessorClock, prepare: (units: number) => () => void): () => number {
  let units = 1;
  return () => {
    for (;;) {
      const { own } = time(prepare(units));
      if (own >= LEAST_SECONDS || units === MOST_UNITS) return own / units;
      const growth = Math.min(MOST_GROWTH, (1.2 * LEAST_SECONDS) / own);
      units = Math.min(MOST_UNITS, Math.ceil(units * Math.max(1.5, growth)));
    }
  };
}

/** The same of an operation. @param operation number `index`, for those that take turns with what they work on */
export function secondsPerOperation({ kernels, clock }: Bench, operation: (index: number) => Operation): () => number {
  let next = 0;
  return secondsPerUnit(clock, (units) => {
    const operations = Array.from({ length: units }, () => operation(next++));
    return () => kernels.run(operations);
  });
}
