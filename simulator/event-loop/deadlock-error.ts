import { list, seconds } from './text.ts';

/** A process that waits, and for what. */
export interface Waiting {
  readonly process: string;
  readonly waitsFor: string;
}

/** No event is left that could let any of the waiting processes go on. */
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
