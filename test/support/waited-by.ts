import { readFileSync } from 'node:fs';

/** Seconds for which the main thread of a process has waited for a processor (Linux); `undefined` elsewhere, or once it has ended. */
export function waitedBy(pid: number): number | undefined {
  try {
    const [, waited] = readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ');
    return Number(waited) / 1e9;
  } catch {
    return undefined;
  }
}
