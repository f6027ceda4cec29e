/** Long work in slices of well below a millisecond: it yields between them, and returns its result. */
export type Slices<Result> = Generator<void, Result>;

/** Characters or symbols that a slice handles. */
export const SLICE = 2 ** 10;

/** Processor time that slices take in a turn of the event loop: a tenth of what a reader notices. */
const TURN_MILLISECONDS = 5;

/** The result of work that nothing else waits for. */
export function atOnce<Result>(slices: Slices<Result>): Result {
  for (;;) {
    const { done, value } = slices.next();
    if (done === true) return value;
  }
}

/** Carries out slices of a work until a time. @returns whether the work is done */
type Job = (end: number) => boolean;

/** The work that is under way in this process, which has one event loop. */
const jobs: Job[] = [];
let isTurning = false;

/**
 * The result of work during which the process handles other events: all such work together takes a few milliseconds
 * of each turn of the event loop. Short work is done at once.
 * @param signal ends the work; the promise rejects then
 */
export function inTurns<Result>(slices: Slices<Result>, signal?: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    jobs.push((end) => {
      try {
        signal?.throwIfAborted();
        do {
          const { done, value } = slices.next();
          if (done !== true) continue;
          resolve(value);
          return true;
        } while (performance.now() < end);
        return false;
      } catch (error) {
        reject(error);
        return true;
      }
    });
    if (!isTurning) turn();
  });
}

function turn(): void {
  isTurning = jobs.length > 0;
  if (!isTurning) return;
  const end = performance.now() + TURN_MILLISECONDS;
  do {
    const job = jobs.shift() as Job;
    if (!job(end)) jobs.push(job);
  } while (jobs.length > 0 && performance.now() < end);
  setImmediate(turn);
}
