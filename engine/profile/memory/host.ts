import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** Sources of facts about the system: files of /proc and /sys on Linux, the program `vm_stat` on macOS. */
export interface Host {
  readonly platform: string;
  /** Bytes of RAM installed. */
  readonly totalMemory: number;
  /** A file's text; `undefined` if it can't be read. */
  readonly readText: (path: string) => string | undefined;
  /** The output of `vm_stat`; `undefined` if the program is missing. */
  readonly vmStat: () => string | undefined;
}

/** The machine that this process runs on. */
export const THIS_HOST: Host = {
  platform: process.platform,
  totalMemory: totalmem(),
  readText: (path) => attempt(() => readFileSync(path, 'utf8')),
  vmStat: () => attempt(() => execFileSync('vm_stat', { encoding: 'utf8' })),
};

function attempt(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
