import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { processReadBytes } from './read-bytes.ts';

/** What the kernel counts about a process that reads its weights, since it began (refaults: since its cgroup did). */
export interface MemoryCounts {
  /** By name, with the unit where it is not SI; those that the system doesn't count are missing. */
  readonly [name: string]: number;
}

/**
 * Reads the kernel's counters: bytes that came from the disk, page faults that had to wait for it, and, within a memory
 * cgroup, pages that were read again because they had been dropped too early (workingset_refault_file).
 */
export function createMemoryCounters(): () => MemoryCounts {
  const statistics = cgroupStatistics();
  return () => {
    const bytes = processReadBytes();
    const faults = majorFaults();
    const refaults = statistics === undefined ? undefined : found(statistics, /^workingset_refault(?:_file)? (\d+)$/m);
    return {
      ...(bytes === undefined ? {} : { 'read from disk (bytes)': bytes }),
      ...(faults === undefined ? {} : { 'major page faults': faults }),
      ...(refaults === undefined ? {} : { 'refaults (pages)': refaults }),
    };
  };
}

/** Field 12 of /proc/self/stat; the name before it may have spaces. */
function majorFaults(): number | undefined {
  const field = read('/proc/self/stat')?.split(') ').at(-1)?.split(' ')[9];
  return field === undefined ? undefined : Number(field);
}

/** memory.stat of this process's cgroup, of version 1 or 2; undefined where it is in none. */
function cgroupStatistics(): string | undefined {
  const groups = read('/proc/self/cgroup') ?? '';
  const v1 = /^\d+:memory:(.*)$/m.exec(groups)?.[1];
  const v2 = /^0::(.*)$/m.exec(groups)?.[1];
  const paths = [
    ...(v1 === undefined ? [] : [join('/sys/fs/cgroup/memory', v1), '/sys/fs/cgroup/memory']),
    ...(v2 === undefined ? [] : [join('/sys/fs/cgroup', v2)]),
  ];
  return paths.map((path) => join(path, 'memory.stat')).find((path) => existsSync(path));
}

function found(path: string, pattern: RegExp): number | undefined {
  const value = pattern.exec(read(path) ?? '')?.[1];
  return value === undefined ? undefined : Number(value);
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
