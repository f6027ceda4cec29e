import { readFileSync } from 'node:fs';

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
