const PATIENCE_SECONDS = 10;
const STEP_MILLISECONDS = 10;

/**
 * Kills processes and removes what they were in, once the kernel lets it: blocks, for it has to work while a process exits.
 * @param processes numbers of those that are left
 * @param remove throws as long as it is too early
 */
export function endProcesses(processes: () => readonly number[], remove: () => void): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + 1000 * PATIENCE_SECONDS;
  for (;;) {
    for (const pid of processes()) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    try {
      remove();
      return;
    } catch (error) {
      if (performance.now() > deadline) throw error;
      Atomics.wait(sleeper, 0, 0, STEP_MILLISECONDS);
    }
  }
}
