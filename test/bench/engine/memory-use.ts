import { readFileSync } from 'node:fs';

/** Memory of a process in RAM, in bytes. */
export interface MemoryUse {
  /** Peak (VmHWM). */
  readonly peak: number;
  /** Resident and backed by files: mapped weights, programs. The operating system may reclaim it. */
  readonly file: number;
  /** Resident and anonymous. */
  readonly anonymous: number;
}

/** Memory of this process as Linux counts it (proc_pid_status(5)); zeros if there is no such file. */
export function memoryUse(): MemoryUse {
  const status = readStatus();
  const bytes = (key: string): number => 1024 * Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0);
  return { peak: bytes('VmHWM'), file: bytes('RssFile'), anonymous: bytes('RssAnon') };
}

function readStatus(): string {
  try {
    return readFileSync('/proc/self/status', 'utf8');
  } catch {
    return '';
  }
}
