/** Jobs one after another. */
export interface JobQueue {
  /** Jobs that have not ended. */
  readonly length: number;
  /** Does a job after those before it, however they end; the promise is how this one ends. */
  add<Result>(job: () => Result | Promise<Result>): Promise<Result>;
}

/** Where nothing is before a job, it begins at once: a turn of the event loop's queue is some ten microseconds. */
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
