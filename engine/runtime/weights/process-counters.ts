import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FilePages } from '../../kernels/file-pages.ts';

/**
 * Bytes that this process has read from disk so far, by any thread and for any purpose: read_bytes of Linux's
 * /proc/self/io, which equals the block layer's count. `undefined` on systems without it.
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
 * Bytes by which the process may grow after a model is loaded: garbage on the heap, compiled code, page tables.
 * Measured: 3 to 8 MiB up to the 150th token; the rest is for longer texts.
 */
export const PROCESS_GROWTH_BYTES = 24 * 2 ** 20;

/**
 * Resident bytes of this process and its children (tsx keeps its compiler running) if the system reports them,
 * otherwise of this process only.
 */
export function processBytes(): number {
  return statusSum(['VmRSS']) ?? process.memoryUsage.rss();
}

/**
 * Bytes of this process and its children that the operating system can't reclaim without swap: anonymous and shared
 * pages, and locked ones, which are pinned weights. `undefined` on systems that don't report them.
 */
export function heldBytes(): number | undefined {
  return statusSum(['RssAnon', 'RssShmem', 'VmLck']);
}

/** Sum of fields of /proc/PID/status over this process and its children, bytes; `undefined` without them. */
function statusSum(fields: readonly string[]): number | undefined {
  const pids = [process.pid, ...children()];
  const values = pids.flatMap((pid) => fields.flatMap((field) => statusOf(pid, field) ?? []));
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0);
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

function statusOf(pid: number, field: string): number | undefined {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(read(`/proc/${pid}/status`) ?? '')?.[1];
  return found === undefined ? undefined : 1024 * Number(found);
}

/** The operating system's counters for a process since its start (refaults: since the start of its cgroup). */
export interface MemoryCounts {
  /** By name, with the unit unless it is SI; missing counters are omitted. */
  readonly [name: string]: number;
}

/**
 * Reads the operating system's counters: bytes read from disk, major page faults, and, within a memory cgroup, pages
 * that were read again after being dropped too early (workingset_refault_file).
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

/** Path of memory.stat of this process's cgroup, version 1 or 2; `undefined` outside a cgroup. */
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
 * Counts bytes read by page faults of computations: the process's reads without its helper thread's.
 * @returns a function that gives the bytes since its last call; 0 on systems that don't count
 */
export function createFaultCounter(pages: FilePages): () => number {
  // The helper's count is taken last, so that its reads in between don't count as faults.
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
 * Measures how long the calling thread neither ran nor waited for a processor: during multiplication it then waits for
 * a page fault, its own or another thread's. Linux counts both in /proc/thread-self/schedstat (nanoseconds on a
 * processor, and runnable without one).
 * @returns a function that gives the seconds since its last call; 0 on systems that don't count
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
