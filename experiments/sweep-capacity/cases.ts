import { type QueueResult, simulateQueue } from './queue-model.ts';
import { clientSeconds, type Measured, type MeasuredSweep, type ServiceTimes } from './service-times.ts';

/** Seconds of work in a job. */
export const JOB_SECONDS = [0.01, 0.1, 1, 10] as const;
/** Workers of one thread: 1, 2, 5, 10, … */
export const WORKERS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] as const;
/** Seconds of work whose results are stored together, at most. */
const BLOCK_SECONDS = 0.1;
/** Simulated seconds: several jobs of each worker, and many reports. */
const LEAST_SECONDS = 6;
const JOBS_EACH = 8;

export interface CapacityRow extends QueueResult {
  readonly jobSeconds: number;
  readonly workers: number;
  readonly pointsPerSecond: number;
}

export interface CapacityCase {
  readonly pointSeconds: number;
  readonly latency: number;
  readonly seed: number;
}

/** Workers with a processor each, and a submitter and a Redis of their own. */
export function simulateCapacity(
  measured: Measured,
  jobSeconds: number,
  workers: number,
  { pointSeconds, latency, seed }: CapacityCase,
): CapacityRow {
  const blockSeconds = Math.min(jobSeconds, BLOCK_SECONDS);
  const pointsPerBlock = Math.max(1, Math.round(blockSeconds / pointSeconds));
  const blocksPerJob = Math.round(jobSeconds / blockSeconds);
  const result = simulateQueue({
    ...{ times: measured.times, workers, jobSeconds, blocksPerJob, pointsPerBlock, latency, seed },
    workerSeconds: ownWorkerSeconds(measured.times, leastOfOne(measured.sweeps)),
    seconds: Math.max(LEAST_SECONDS, JOBS_EACH * jobSeconds),
  });
  const pointsPerSecond = result.jobsPerSecond * blocksPerJob * pointsPerBlock;
  return { ...result, jobSeconds, workers, pointsPerSecond };
}

/** A real sweep next to its simulation: all programs share the processors that others left. */
export interface ComparedSweep extends MeasuredSweep {
  /** With a worker's processor time per job from the sweeps with one worker. */
  readonly simulatedJobsPerSecond: number;
  /** With the processor time per job that the workers of this sweep took. */
  readonly withOwnTimes: number;
}

export function compareSweeps(measured: Measured, seed: number): ComparedSweep[] {
  const { times, processors, sweeps } = measured;
  const simulated = ({ workers, jobSeconds, others }: MeasuredSweep, workerSeconds: number): number =>
    simulateQueue({
      ...{ times, workers, jobSeconds, blocksPerJob: 1, pointsPerBlock: 1, latency: 0, seed, workerSeconds },
      processors: processors - others,
      seconds: LEAST_SECONDS,
    }).jobsPerSecond;
  return sweeps.map((sweep) => ({
    ...sweep,
    simulatedJobsPerSecond: simulated(
      sweep,
      ownWorkerSeconds(times, sweep.workers > processors ? mostOfOne(sweeps) : leastOfOne(sweeps)),
    ),
    withOwnTimes: simulated(sweep, ownWorkerSeconds(times, sweep.workerSeconds)),
  }));
}

/** Processor seconds per job of a worker that finds its processor as it left it. */
function leastOfOne(sweeps: readonly MeasuredSweep[]): number {
  return Math.min(...secondsOfOne(sweeps));
}

/**
 * Processor seconds per job of a worker whose processor other programs have used since its last job, as those that
 * share it with other workers do: what was in its caches is gone.
 */
function mostOfOne(sweeps: readonly MeasuredSweep[]): number {
  return Math.max(...secondsOfOne(sweeps));
}

/** Processor seconds per job of the sweeps with one worker. */
function secondsOfOne(sweeps: readonly MeasuredSweep[]): number[] {
  return sweeps.filter(({ workers }) => workers === 1).map(({ workerSeconds }) => workerSeconds);
}

/** A worker's processor seconds per job other than those for its operations on Redis. */
function ownWorkerSeconds(times: ServiceTimes, workerSeconds: number): number {
  return Math.max(0, workerSeconds - clientSeconds(times, 1, 1));
}
