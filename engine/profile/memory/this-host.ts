import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import type { Host } from './host.ts';

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
