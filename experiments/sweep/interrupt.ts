/** Conventional exit code after Ctrl-C: 128 plus the signal's number. */
export const INTERRUPTED = 130;

/**
 * Seconds within which a repeated signal isn't a second Ctrl-C: runners such as tsx pass on a signal already received.
 */
const ECHO_SECONDS = 1;

export interface Interrupt {
  /** An interrupt was received. */
  readonly wanted: boolean;
  /** Restores the default handling of signals. */
  dispose(): void;
}

/** Handles SIGINT (Ctrl-C) and SIGTERM; a second signal, some time after the first, ends the process at once. */
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
