import type { Kernels } from '../../kernels/kernels.ts';
import type { MatrixSource } from '../../kernels/matrix.ts';
import type { Operation } from '../../kernels/operation.ts';
import type { ProcessorClock } from '../processor-clock.ts';

/** The kernels and memory that probes use. */
export interface Bench {
  readonly kernels: Kernels;
  /** Times runs of the kernels. */
  readonly clock: ProcessorClock;
  /** Times operations by the device's own clock, which hosts and other programs don't disturb. Default: `clock`. */
  readonly deviceClock?: ProcessorClock | undefined;
  /** Bytes that serve as weights of any format. */
  readonly weights: MatrixSource['source'];
  /** As many of them as are used: more than the last-level cache holds. */
  readonly weightBytes: number;
}

/** Whether kernels compute in this process's memory, as those of a CPU do, and through its caches. */
export function isCpu({ kernels }: Pick<Bench, 'kernels'>): boolean {
  return kernels.read(kernels.vector(1)) === undefined;
}

/** Shortest run, in seconds: long compared with the time that threads take to start and finish. */
const LEAST_SECONDS = 0.1;
const MOST_UNITS = 4096;
/** Most growth from one attempt to the next, so that a single delay doesn't decide the number of units. */
const MOST_GROWTH = 8;

/**
 * Measures the seconds that one unit of work takes. The first measurement finds the number of units per run that lasts
 * long enough to be timed.
 * @param prepare returns a function that does `units` units; the preparation isn't timed
 */
export function secondsPerUnit(
  { time }: ProcessorClock,
  prepare: (units: number) => () => void | Promise<void>,
): () => Promise<number> {
  let units = 1;
  return async () => {
    for (;;) {
      const { own } = await time(prepare(units));
      if (own >= LEAST_SECONDS || units === MOST_UNITS) return own / units;
      const growth = Math.min(MOST_GROWTH, (1.2 * LEAST_SECONDS) / own);
      units = Math.min(MOST_UNITS, Math.ceil(units * Math.max(1.5, growth)));
    }
  };
}

/**
 * Measures the seconds of some operations. @param operationsOf returns those of number `index`, so that runs can
 * alternate between operands
 */
export function secondsPerOperations(
  { kernels, clock, deviceClock = clock }: Pick<Bench, 'kernels' | 'clock' | 'deviceClock'>,
  operationsOf: (index: number) => readonly Operation[],
): () => Promise<number> {
  let next = 0;
  return secondsPerUnit(deviceClock, (units) => {
    const operations = Array.from({ length: units }, () => operationsOf(next++)).flat();
    return () => kernels.run(operations);
  });
}
