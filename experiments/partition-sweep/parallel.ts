import { Piscina } from 'piscina';
import type { Judged } from './judge.ts';
import type { SweepSetting } from './sweeper.ts';

/** Plans that a worker judges between two messages: a fraction of a second. */
const BATCH = 32;

/** Batches pending or finished per worker: few results have to wait for a slow earlier batch. */
const AHEAD = 3;

export interface Batch {
  readonly numbers: Float64Array;
  readonly judged: readonly Judged[];
}

/**
 * Judges plans on several threads. Batches are returned in the order of the numbers, whichever thread is first. Only a
 * few
 * per worker are pending, so memory use stays constant. Leaving the loop early ends the threads.
 */
export async function* judgeInParallel(
  setting: SweepSetting,
  numbers: Float64Array,
  workers: number,
): AsyncGenerator<Batch> {
  const pool = new Piscina<Float64Array, Judged[]>({
    filename: new URL('./worker.ts', import.meta.url).href,
    workerData: setting,
    execArgv: ['--import', import.meta.resolve('tsx')],
    minThreads: workers,
    maxThreads: workers,
  });
  const under: { readonly numbers: Float64Array; readonly judged: Promise<Judged[]> }[] = [];
  const first = async (): Promise<Batch> => {
    const { numbers, judged } = under.shift() as (typeof under)[number];
    return { numbers, judged: await judged };
  };
  try {
    for (let from = 0; from < numbers.length; from += BATCH) {
      const batch = numbers.slice(from, from + BATCH);
      const judged = pool.run(batch);
      // If a batch fails while an earlier one is awaited, the error is thrown when its turn comes.
      judged.catch(() => {});
      under.push({ numbers: batch, judged });
      if (under.length >= AHEAD * workers) yield await first();
    }
    while (under.length > 0) yield await first();
  } finally {
    // A thread that is terminated during a batch may still send its result, which the pool no longer expects.
    await Promise.allSettled(under.map(({ judged }) => judged));
    await pool.destroy();
  }
}
