import { join } from 'node:path';
import { processStart } from '../../engine/files/process-mark.ts';
import type { LabFiles } from './system.ts';

/** Name of everything that a lab makes outside its own folder: `hearth-lab-PID-START-PART`. */
export interface LabName {
  /** Id of the process that runs the lab. */
  readonly pid: number;
  /** When that process started, in clock ticks since boot: process ids are reused. */
  readonly start: string;
  /** Letters, digits and dashes: a device's name, `switch` or `parts`. */
  readonly part: string;
}

export function formatLabName({ pid, start, part }: LabName): string {
  return `hearth-lab-${pid}-${start}-${part}`;
}

/** `undefined` for a name that no lab gives. */
export function parseLabName(name: string): LabName | undefined {
  const [, pid, start, part] = /^hearth-lab-(\d+)-(\d+)-([\w-]+)$/.exec(name) ?? [];
  return pid === undefined || start === undefined || part === undefined ? undefined : { pid: Number(pid), start, part };
}

/** Whether the process that gave a name still runs: a process with its id that started at the same time. */
export function isLabAlive(files: Pick<LabFiles, 'read'>, { pid, start }: LabName): boolean {
  try {
    return processStart(files.read(join('/proc', String(pid), 'stat'))) === start;
  } catch {
    return false;
  }
}
