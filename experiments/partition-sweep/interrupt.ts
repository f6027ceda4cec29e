/** Exit code of a program that Ctrl-C ended, by convention: 128 and the signal's number. */
export const INTERRUPTED = 130;

/** Runners such as tsx pass a signal on to a process that the terminal has told already: no second Ctrl-C. */
const ECHO_SECONDS = 1;

export interface Interrupt {
  /** Somebody wants the work to end. */
  readonly wanted: boolean;
  /** Signals end the process again. */
  dispose(): void;
}

/** Hears SIGINT (Ctrl-C) and SIGTERM instead of being ended by them; a second one, later, ends the process at once. */
export function hearInterrupt(): Interrupt {
  let first: number | undefined;
  const hear = (): void => {
    const now = performance.now() / 1e3;
    first ??= now;
    if (now - first > ECHO_SECONDS) process.exit(INTERRUPTED);
  };
  process.on('SIGINT', hear).on('SIGTERM', hear);
  return {
    get wanted() {
      return first !== undefined;
    },
    dispose: () => {
      process.off('SIGINT', hear).off('SIGTERM', hear);
    },
  };
}
