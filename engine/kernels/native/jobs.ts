/** The addon's report on a job that has ended: seconds on its clock, and an error, empty if the job succeeded. */
export interface NativeOutcome {
  readonly start: number;
  readonly end: number;
  readonly error: string;
}

/** A thread of the addon that does jobs. Jobs are numbers; each outcome is returned once. */
export interface NativeJobs<Outcome extends NativeOutcome> {
  wait(job: number): Outcome;
  poll(job: number): Outcome | undefined;
  /** Seconds on the clock of the outcomes. */
  now(): number;
}

/** A job whose outcome can be asked for again and again, with times on the clock of performance.now(). */
export interface Job<Outcome extends NativeOutcome> {
  wait(): Omit<Outcome, 'error'>;
  poll(): Omit<Outcome, 'error'> | undefined;
  /** Whether its outcome has been fetched. */
  readonly isKnown: boolean;
}

/**
 * Turns the numbers of jobs into objects.
 * @param failure the error that `wait` and `poll` throw for a job that failed
 */
export function jobsOf<Outcome extends NativeOutcome>(
  native: NativeJobs<Outcome>,
  failure: (error: string) => Error,
): (number: number) => Job<Outcome> {
  // Both clocks run at the same rate, from different origins.
  const offset = performance.now() / 1000 - native.now();
  const checked = ({ error, ...outcome }: Outcome): Omit<Outcome, 'error'> => {
    if (error !== '') throw failure(error);
    return { ...outcome, start: outcome.start + offset, end: outcome.end + offset };
  };
  return (number) => {
    let found: Outcome | undefined;
    return {
      wait() {
        found ??= native.wait(number);
        return checked(found);
      },
      poll() {
        found ??= native.poll(number);
        return found && checked(found);
      },
      get isKnown() {
        return found !== undefined;
      },
    };
  };
}
