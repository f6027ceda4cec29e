/**
 * Thrown into a process out of the wait in which it is interrupted. What it waited for is given up: a place in a queue,
 * a service under way, a transfer half done.
 */
export class Interrupt extends Error {
  override readonly name: string = 'Interrupt';

  /**
   * @param cause whatever the interrupting side passed
   * @param remaining what was left of the wait: seconds of a hold or a service, bytes of a transfer; else undefined
   */
  constructor(
    override readonly cause: unknown,
    readonly remaining: number | undefined,
    message = `interrupted: ${String(cause)}`,
  ) {
    super(message);
  }
}

/** The interrupt of a process that a more urgent one drives out of a preemptive server. */
export class Preemption extends Interrupt {
  override readonly name = 'Preemption';

  /** @param by name of the process that takes the place */
  constructor(
    readonly server: string,
    readonly by: string,
    remaining: number | undefined,
  ) {
    super(by, remaining, `preempted on server "${server}" by "${by}"`);
  }
}
