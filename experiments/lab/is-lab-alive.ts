import { join } from 'node:path';
import { type LabName, processStart } from './name.ts';
import type { LabFiles } from './system.ts';

/** Whether the process that gave a name still runs: it has the same number and started at the same time. */
export function isLabAlive(files: Pick<LabFiles, 'read'>, { pid, start }: LabName): boolean {
  try {
    return processStart(files.read(join('/proc', String(pid), 'stat'))) === start;
  } catch {
    return false;
  }
}
