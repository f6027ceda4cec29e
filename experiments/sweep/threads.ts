import { Piscina } from 'piscina';
import { type Sweep, SweepError } from './sweep.ts';

export interface RangeTask {
  readonly from: number;
  readonly to: number;
  /** Shared with the thread: the point that it computes. */
  readonly current: Float64Array;
}

export interface RangeResult {
  /** A line per point. */
  readonly lines: readonly string[];
  /** Time spent on the points. */
  readonly seconds: number;
}

/** Threads that compute points of one sweep. */
export interface Threads {
  /** Points from … to − 1. @throws SweepError naming a point that takes longer than `hangSeconds` */
  compute(from: number, to: number): Promise<RangeResult>;
  close(): Promise<void>;
}

export interface ThreadsOptions {
  readonly threads: number;
  /** A point that takes longer is taken for one that never ends. */
  readonly hangSeconds: number;
}

/** Seconds between two looks at which point a thread computes, at most. */
const LOOK_SECONDS = 1;

export function createThreads(sweep: Sweep, { threads, hangSeconds }: ThreadsOptions): Threads {
  const pool = new Piscina<RangeTask, RangeResult>({
    filename: new URL('./thread.mjs', import.meta.url).href,
    workerData: sweep,
    // Without options of the main thread, such as tsx's.
    execArgv: [],
    minThreads: threads,
    maxThreads: threads,
  });
  return {
    async compute(from, to) {
      const current = new Float64Array(new SharedArrayBuffer(8)).fill(-1);
      const controller = new AbortController();
      let [seen, since] = [-1, performance.now()];
      const look = (): void => {
        const point = current[0] as number;
        if (point !== seen || point < 0) [seen, since] = [point, performance.now()];
        if (performance.now() - since > 1000 * hangSeconds) controller.abort();
      };
      const timer = setInterval(look, 1000 * Math.min(LOOK_SECONDS, hangSeconds / 4));
      try {
        return await pool.run({ from, to, current }, { signal: controller.signal });
      } catch (error) {
        if (!controller.signal.aborted) throw error;
        throw new SweepError(`point ${seen} has no result after ${hangSeconds} s; run it alone with --point ${seen}`);
      } finally {
        clearInterval(timer);
      }
    },
    close: () => pool.destroy(),
  };
}
