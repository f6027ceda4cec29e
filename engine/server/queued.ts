import type { RunningRequest } from '../runtime/batch/batch-engine.ts';

/**
 * Starts the texts of one request, at most this many at a time; the others begin as these end.
 * @returns what starts a text, at once or later
 */
export function queuedRuns(most: number): (start: () => RunningRequest) => RunningRequest {
  let running = 0;
  const waiting: (() => void)[] = [];
  const ended = (): void => {
    running -= 1;
    waiting.shift()?.();
  };
  const begun = (start: () => RunningRequest): RunningRequest => {
    running += 1;
    try {
      const run = start();
      run.result.then(ended, ended);
      return run;
    } catch (error) {
      ended();
      throw error;
    }
  };
  return (start) => {
    if (running < most) return begun(start);
    const later = new Promise<void>((resolve) => {
      waiting.push(resolve);
    }).then(() => begun(start));
    const result = later.then((run) => run.result);
    result.catch(() => {}); // the reader of the text gets the error
    return {
      result,
      async *[Symbol.asyncIterator]() {
        yield* await later;
      },
    };
  };
}
