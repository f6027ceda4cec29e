import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilePages } from '../../kernels/file-pages.ts';

/**
 * Bytes that this process has made the disk read so far, by any thread and for any purpose: read_bytes of Linux's
 * /proc/self/io, which equals the block layer's count. Undefined on systems without it.
 */
export function processReadBytes(): number | undefined {
  try {
    const found = /^read_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}

/**
 * Bytes by which the process may grow after a model is loaded: garbage on the heap, compiled code, page tables. Measured
 * are 3 to 8 MiB from there to the 150th token; the rest is for longer texts.
 */
export const PROCESS_GROWTH_BYTES = 24 * 2 ** 20;

/**
 * Resident bytes of this process and of those that it has started (tsx keeps its compiler running), where the system
 * tells about them; else of this process alone.
 */
export function processBytes(): number {
  return (
    [process.pid, ...children()].reduce((sum, pid) => sum + (residentOf(pid) ?? 0), 0) || process.memoryUsage.rss()
  );
}

function children(): number[] {
  try {
    const text = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
    return text
      .split(' ')
      .filter((part) => part !== '')
      .map(Number);
  } catch {
    return [];
  }
}

function residentOf(pid: number): number | undefined {
  try {
    const found = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return found === undefined ? undefined : 1024 * Number(found);
  } catch {
    return undefined;
  }
}

/** What the operating system counts about a process that reads its weights, since it began (refaults: since its cgroup did). */
export interface MemoryCounts {
  /** By name, with the unit where it is not SI; what the system doesn't count is omitted. */
  readonly [name: string]: number;
}

/**
 * Reads the operating system's counters: bytes that came from the disk, page faults that had to wait for it, and, within a memory
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

/**
 * Counts bytes that computations made the disk read, by page faults: what the process reads without its helper thread.
 * @returns bytes since the last call, or since the beginning; 0 on systems that don't count
 */
export function createFaultCounter(pages: FilePages): () => number {
  // The helper's count is taken last: what it reads in between must not look like a fault.
  const count = (): number => {
    const all = processReadBytes();
    const helper = pages.readBytes();
    return all === undefined || helper === undefined ? 0 : all - helper;
  };
  let counted = count();
  return () => {
    const now = count();
    const bytes = Math.max(0, now - counted);
    counted = Math.max(counted, now);
    return bytes;
  };
}

/**
 * Measures for how long the calling thread was neither computing nor waiting for a processor: while it multiplies, it
 * then waits for a page fault, its own or that of another thread that computes with it. Linux counts both in
 * /proc/thread-self/schedstat (nanoseconds on a processor, and runnable without one).
 * @returns seconds since the last call, or since the beginning; 0 on systems that don't count
 */
export function createBlockedMeter(): () => number {
  const read = (): { readonly now: number; readonly runnable: number } => {
    const runnable = runnableSeconds();
    return { now: performance.now() / 1000, runnable: runnable ?? Number.NaN };
  };
  let last = read();
  return () => {
    const current = read();
    const blocked = current.now - last.now - (current.runnable - last.runnable);
    last = current;
    return Number.isNaN(blocked) ? 0 : Math.max(0, blocked);
  };
}

function runnableSeconds(): number | undefined {
  try {
    const [running, waiting] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ').map(Number);
    return running === undefined || waiting === undefined ? undefined : (running + waiting) / 1e9;
  } catch {
    return undefined;
  }
}
