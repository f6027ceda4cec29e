import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';

/** What the system says about itself: files of /proc and /sys on Linux, a program's words on macOS. */
export interface Host {
  readonly platform: string;
  /** Bytes of RAM installed. */
  readonly totalMemory: number;
  /** A file's text; undefined where it can't be read. */
  readonly readText: (path: string) => string | undefined;
  /** What the program `vm_stat` prints; undefined where there is none. */
  readonly vmStat: () => string | undefined;
}

/** The machine that we run on. */
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
