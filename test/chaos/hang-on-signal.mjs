import { existsSync } from 'node:fs';

/**
 * Preloaded into a worker by `--import`: on SIGUSR2 its main thread blocks, as in a read from a dead disk, while other
 * threads go on, until the file HEARTH_CHAOS_HANG is gone.
 */
const sleeper = new Int32Array(new SharedArrayBuffer(4));
process.on('SIGUSR2', () => {
  while (existsSync(process.env.HEARTH_CHAOS_HANG ?? '')) Atomics.wait(sleeper, 0, 0, 250);
});
