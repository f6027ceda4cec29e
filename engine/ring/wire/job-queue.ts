import { setTimeout as sleep } from 'node:timers/promises';

/** Runs jobs one after another. */
export interface JobQueue {
  /** The number of jobs that have not ended. */
  readonly length: number;
  /** Runs `job` after all earlier jobs have ended, with or without an error. @returns the job's own result */
  add<Result>(job: () => Result | Promise<Result>): Promise<Result>;
}

/** If the queue is empty a job starts at once: waiting for the event loop would take about ten microseconds. */
export function createJobQueue(): JobQueue {
  let last: Promise<unknown> = Promise.resolve();
  let length = 0;
  return {
    get length() {
      return length;
    },
    add(job) {
      const done = length > 0 ? last.then(job) : (async () => job())();
      length += 1;
      const next = () => {
        length -= 1;
      };
      last = done.then(next, next);
      return done;
    },
  };
}

/**
 * Sends frames one after another, as ZeroMQ's sockets require. Each promise settles with its own send.
 * @param delay seconds that each send waits first, independently of others: simulates a slow link
 */
export function createOutbox(delay = 0): (send: () => Promise<void>) => Promise<void> {
  const queue = createJobQueue();
  if (delay === 0) return queue.add;
  return (send) => {
    const due = performance.now() + 1000 * delay;
    return queue.add(async () => {
      await sleep(due - performance.now());
      await send();
    });
  };
}
