import { readdirSync, readFileSync } from 'node:fs';
import { type Sample, sampleOf } from './sample.ts';

/** A run of what is measured. */
export interface TimedRun {
  readonly seconds: number;
  /** Seconds for which threads of this process waited for a processor meanwhile, together; 0 where systems don't count. */
  readonly waited: number;
}

const TASKS = '/proc/self/task';

/** Times work of several threads of this process that depend on each other, such as two that poll for each other. */
export async function timedRun(run: () => unknown): Promise<TimedRun> {
  const before = waited();
  const start = performance.now();
  await run();
  const seconds = (performance.now() - start) / 1000;
  return { seconds, waited: Math.max(0, waited() - before) };
}

/**
 * The runs that other programs disturbed the least count: the half whose threads waited for processors for the smallest
 * share of the time, whatever they took. Where one thread polls for another, a wait of either delays both, so that it
 * can't be subtracted.
 * @throws RangeError without a run
 */
export function quietSample(runs: readonly TimedRun[]): Sample {
  const share = ({ seconds, waited: own }: TimedRun): number => own / seconds;
  const shares = runs.map(share).sort((one, other) => one - other);
  const most = shares[Math.ceil(shares.length / 2) - 1] ?? 0;
  return sampleOf(runs.filter((run) => share(run) <= most).map(({ seconds }) => seconds));
}

/** Seconds that the threads of this process have waited for a processor so far (/proc/<pid>/task/<id>/schedstat). */
function waited(): number {
  let sum = 0;
  for (const id of listed()) {
    try {
      sum += Number(readFileSync(`${TASKS}/${id}/schedstat`, 'utf8').split(' ')[1]) / 1e9;
    } catch {
      // The thread has ended, or the system doesn't count.
    }
  }
  return sum;
}

function listed(): string[] {
  try {
    return readdirSync(TASKS);
  } catch {
    return [];
  }
}
