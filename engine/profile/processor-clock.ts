import { readdirSync, readFileSync } from 'node:fs';

/** How long something took. */
export interface Timing {
  /** By the clock on the wall, seconds. */
  readonly wall: number;
  /**
   * The same without the time for which the system kept the threads waiting while other programs ran: what it would have
   * taken here alone. On a machine that is idle, or that doesn't tell, it equals `wall`.
   */
  readonly own: number;
}

/** Times what some threads do together. */
export interface ProcessorClock {
  readonly time: (run: () => void) => Timing;
}

const TASKS = '/proc/self/task';
/** What lets threads fall asleep before the clock starts, and those that were kept waiting get there afterwards. */
const SETTLE_MILLISECONDS = 2;
/** A thread that has got no processor for as long won't within reason. */
const PATIENCE_MILLISECONDS = 50;

/** Nothing is ever written to it: waiting for a change is sleeping. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/**
 * Calls `open`, which may start threads, and makes a clock for them and the calling one. Linux counts, for each thread,
 * for how long it was ready to run and had no processor (/proc/<pid>/task/<id>/schedstat); work that threads share out among
 * themselves takes longer by the mean of their waits.
 */
export function clockFor<T>(open: () => T): { readonly opened: T; readonly clock: ProcessorClock } {
  const before = new Set(taskIds());
  const opened = open();
  const started = taskIds().filter((id) => !before.has(id));
  const threads = taskIds().includes(String(process.pid)) ? [String(process.pid), ...started] : [];
  return { opened, clock: { time: (run) => timed(run, threads) } };
}

function timed(run: () => void, threads: readonly string[]): Timing {
  sleep(SETTLE_MILLISECONDS);
  const before = threads.map(waited);
  const start = performance.now();
  run();
  const end = performance.now();
  const waits = threads.map((id, index) => waitIn(id, before[index] as number, end));
  const wall = (end - start) / 1000;
  const wait = waits.reduce((sum, seconds) => sum + Math.min(wall, seconds), 0) / Math.max(1, threads.length);
  return { wall, own: wall - wait };
}

/** A wait that began before `end` is counted by the system when it is over: what of it lies after `end` doesn't count. */
function waitIn(thread: string, before: number, end: number): number {
  let after = 0;
  while (thread !== String(process.pid) && isAwake(thread)) {
    after = performance.now() - end;
    if (after > PATIENCE_MILLISECONDS) break;
    if (after > SETTLE_MILLISECONDS) sleep(1);
  }
  return Math.max(0, waited(thread) - before - after / 1000);
}

/** Seconds for which a thread has waited for a processor; 0 where the system doesn't count. */
function waited(thread: string): number {
  try {
    return Number(readFileSync(`${TASKS}/${thread}/schedstat`, 'utf8').split(' ')[1]) / 1e9;
  } catch {
    return 0;
  }
}

/** Whether a thread runs or waits for a processor. The name before the state may hold spaces and brackets. */
function isAwake(thread: string): boolean {
  try {
    return readFileSync(`${TASKS}/${thread}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .startsWith('R');
  } catch {
    return false;
  }
}

function taskIds(): string[] {
  try {
    return readdirSync(TASKS);
  } catch {
    return [];
  }
}

function sleep(milliseconds: number): void {
  Atomics.wait(NEVER, 0, 0, milliseconds);
}
