import { seconds } from './text.ts';

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
