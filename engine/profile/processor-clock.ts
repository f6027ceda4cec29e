import { readdirSync, readFileSync } from 'node:fs';

/** How long something took. */
export interface Timing {
  /** Wall-clock seconds. */
  readonly wall: number;
  /**
   * Wall-clock seconds less the time for which the threads waited for a processor while other programs ran: an estimate
   * of the time on an idle machine. Equals `wall` if the machine is idle or the system doesn't report waits.
   */
  readonly own: number;
}

/** Times work of several threads. */
export interface ProcessorClock {
  readonly time: (run: () => void | Promise<void>) => Promise<Timing>;
}

const TASKS = '/proc/self/task';
/** Lets threads fall asleep before the clock starts, and lets delayed threads do so after it stops. */
const SETTLE_MILLISECONDS = 2;
/** Longest wait for a thread that gets no processor. */
const MOST_WAIT_MILLISECONDS = 50;

/** Never written to, so waiting for a change sleeps. */
const NEVER = new Int32Array(new SharedArrayBuffer(4));

/**
 * Calls `open`, which may start threads, and returns a clock for them and the calling thread. Linux counts for each
 * thread how long it was ready to run without a processor (/proc/<pid>/task/<id>/schedstat). Work that is shared among
 * threads is assumed to be delayed by the mean of their waits.
 */
export function clockFor<T>(open: () => T): { readonly opened: T; readonly clock: ProcessorClock } {
  const before = new Set(taskIds());
  const opened = open();
  const started = taskIds().filter((id) => !before.has(id));
  const threads = taskIds().includes(String(process.pid)) ? [String(process.pid), ...started] : [];
  return { opened, clock: { time: (run) => timed(run, threads) } };
}

async function timed(run: () => void | Promise<void>, threads: readonly string[]): Promise<Timing> {
  sleep(SETTLE_MILLISECONDS);
  const before = threads.map(waited);
  const start = performance.now();
  const running = run();
  if (running !== undefined) await running;
  const end = performance.now();
  const waits = threads.map((id, index) => waitIn(id, before[index] as number, end));
  const wall = (end - start) / 1000;
  const wait = waits.reduce((sum, seconds) => sum + Math.min(wall, seconds), 0) / Math.max(1, threads.length);
  return { wall, own: wall - wait };
}

/**
 * Seconds that a thread waited before `end`. The system counts a wait when it is over, so the part after `end` is
 * subtracted.
 */
function waitIn(thread: string, before: number, end: number): number {
  let after = 0;
  while (thread !== String(process.pid) && isAwake(thread)) {
    after = performance.now() - end;
    if (after > MOST_WAIT_MILLISECONDS) break;
    if (after > SETTLE_MILLISECONDS) sleep(1);
  }
  return Math.max(0, waited(thread) - before - after / 1000);
}

/** Seconds that a thread has waited for a processor so far; 0 if the system doesn't count them. */
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
