import { readFileSync } from 'node:fs';

/** What a process holds in RAM, in bytes. */
export interface MemoryUse {
  /** The most that it ever held (VmHWM). */
  readonly peak: number;
  /** Held now and backed by files: mapped weights, programs. The system may take it back. */
  readonly file: number;
  /** Held now and its own. */
  readonly anonymous: number;
}

/** Of this process, as Linux counts it (proc_pid_status(5)); zeros where there is no such file. */
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
