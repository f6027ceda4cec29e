import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testIf } from './needs.ts';

/** A memory cgroup for a test. */
export interface MemoryCgroup {
  /** File to which a process writes its number to join. */
  readonly procs: string;
  /** Peak memory of its processes, including page cache. */
  peakBytes(): number;
  /** Number of processes that Linux killed for lack of memory. */
  kills(): number;
  /** Removes the group; all its processes must have ended. */
  remove(): void;
}

const ROOT = '/sys/fs/cgroup';
const V1 = join(ROOT, 'memory');
const isV1 = existsSync(join(V1, 'memory.limit_in_bytes'));

/** Makes a cgroup below the root, of version 1 or 2. @throws Error if that isn't permitted */
export function createMemoryCgroup(limitBytes: number): MemoryCgroup {
  const folder = join(isV1 ? V1 : ROOT, `hearth-test-${process.pid}-${Math.floor(performance.now() * 1000)}`);
  mkdirSync(folder);
  const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
  try {
    writeFileSync(join(folder, isV1 ? 'memory.limit_in_bytes' : 'memory.max'), String(limitBytes));
    if (!isV1) writeFileSync(join(folder, 'memory.swap.max'), '0');
  } catch (error) {
    rmdirSync(folder);
    throw error;
  }
  return {
    procs: join(folder, 'cgroup.procs'),
    peakBytes: () => Number(read(isV1 ? 'memory.max_usage_in_bytes' : 'memory.peak')),
    kills: () => Number(/^oom_kill (\d+)$/m.exec(read(isV1 ? 'memory.oom_control' : 'memory.events'))?.[1]),
    remove: () => rmdirSync(folder),
  };
}

/** A test that needs memory cgroups: skipped, with the reason printed, if they can't be made. */
export function testInCgroup(name: string, body: () => Promise<void>): void {
  let reason = '';
  try {
    createMemoryCgroup(2 ** 28).remove();
  } catch (error) {
    reason = `memory cgroups can’t be made here: ${(error as Error).message}`;
  }
  testIf(reason === '', reason, name, body);
}
