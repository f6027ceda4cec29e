import { Piscina } from 'piscina';
import { type Sweep, SweepError } from './sweep.ts';

/** In place of a point: no thread has the range yet; the thread loads what computes points. */
const WAITING = -1;
export const LOADING = -2;

/** Seconds after which loading is taken for something that never ends, at least. */
const LONGEST_LOADING = 60;

export interface RangeTask {
  readonly from: number;
  readonly to: number;
  /** Shared with the thread: the point that it computes, WAITING or LOADING. */
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
  // A thread that dies between two ranges: its next range fails, or has another thread.
  pool.on('error', () => {});
  return {
    async compute(from, to) {
      const current = new Float64Array(new SharedArrayBuffer(8)).fill(WAITING);
      const controller = new AbortController();
      let [seen, since] = [WAITING, performance.now()];
      const look = (): void => {
        const point = current[0] as number;
        if (point !== seen || point === WAITING) [seen, since] = [point, performance.now()];
        const most = point === LOADING ? Math.max(hangSeconds, LONGEST_LOADING) : hangSeconds;
        if (performance.now() - since > 1000 * most) controller.abort();
      };
      const timer = setInterval(look, 1000 * Math.min(LOOK_SECONDS, hangSeconds / 4));
      try {
        return await pool.run({ from, to, current }, { signal: controller.signal });
      } catch (error) {
        if (!controller.signal.aborted) throw error;
        if (seen === LOADING) throw new SweepError('the setting of the sweep is not loaded after a minute');
        throw new SweepError(`point ${seen} has no result after ${hangSeconds} s; run it alone with --point ${seen}`);
      } finally {
        clearInterval(timer);
      }
    },
    close: () => pool.destroy(),
  };
}
