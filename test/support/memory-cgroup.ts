import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { testIf } from './needs.ts';

/** A memory cgroup of our own. */
export interface MemoryCgroup {
  /** A process that writes its number there joins. */
  readonly procs: string;
  /** The most bytes that its processes have taken together, page cache included. */
  peakBytes(): number;
  /** Processes that the kernel has killed for lack of memory. */
  kills(): number;
  /** Once all its processes have ended. */
  remove(): void;
}

const ROOT = '/sys/fs/cgroup';
const V1 = join(ROOT, 'memory');
const isV1 = existsSync(join(V1, 'memory.limit_in_bytes'));

/** Makes a cgroup below the root, of version 1 or 2. @throws Error where that isn't allowed */
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

/** A test that needs memory cgroups that it may make: without them it is skipped, and the reason printed. */
export function testInCgroup(name: string, body: () => Promise<void>): void {
  let reason = '';
  try {
    createMemoryCgroup(2 ** 28).remove();
  } catch (error) {
    reason = `memory cgroups can't be made here: ${(error as Error).message}`;
  }
  testIf(reason === '', reason, name, body);
}
