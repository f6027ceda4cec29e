/** A process that waits, and for what. */
export interface Waiting {
  readonly process: string;
  readonly waitsFor: string;
}

/** No event is left that could resume any of the waiting processes. */
export class DeadlockError extends Error {
  override readonly name = 'DeadlockError';

  constructor(
    /** Simulated time, seconds. */
    readonly time: number,
    readonly waiting: readonly Waiting[],
  ) {
    const each = waiting.map(({ process, waitsFor }) => `"${process}" waits for ${waitsFor}`);
    super(`deadlock at ${seconds(time)}, no event is left: ${list(each, '; ')}`);
  }
}

/** An error that a process threw and did not catch; `cause` is the error. */
export class ProcessError extends Error {
  override readonly name = 'ProcessError';

  constructor(
    readonly process: string,
    /** Simulated time, seconds. */
    readonly time: number,
    override readonly cause: unknown,
  ) {
    super(`process "${process}" failed at ${seconds(time)}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
}

/** Thrown into a process that is interrupted while it waits. The wait is given up, a transfer half done. */
export class Interrupt extends Error {
  override readonly name = 'Interrupt';

  constructor(
    /** Whatever the interrupting side passed. */
    override readonly cause: unknown,
    /** Rest of the wait: seconds of a hold, bytes of a transfer; `undefined` for other waits. */
    readonly remaining: number | undefined,
  ) {
    super(`interrupted: ${String(cause)}`);
  }
}

/** `3.5 s`, without the rounding noise of sums. */
export function seconds(value: number): string {
  return `${Number(value.toPrecision(12))} s`;
}

/** Most names that a message lists; further ones are only counted. */
const LISTED = 8;

/** `a, b and 3 more`: the first few entries of a list. */
export function list(texts: readonly string[], separator = ', '): string {
  if (texts.length <= LISTED) return texts.join(separator);
  return `${texts.slice(0, LISTED).join(separator)} and ${texts.length - LISTED} more`;
}
