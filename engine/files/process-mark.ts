import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';

/** Names a process, so that others can tell later whether it still runs. */
export interface ProcessMark {
  readonly host: string;
  readonly pid: number;
  /** Start of the process in clock ticks since boot, since process ids are reused; absent where there is no /proc. */
  readonly start?: string;
}

export function ownMark(): ProcessMark {
  const stat = statOf(process.pid);
  return { host: hostname(), pid: process.pid, ...(stat !== undefined && { start: processStart(stat) }) };
}

/**
 * Whether the process runs: on this machine by its id and start time. A process of another machine can't be looked up
 * here and counts as running.
 */
export function isRunning({ host, pid, start }: ProcessMark): boolean {
  if (host !== hostname()) return true;
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it is another user's.
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  const stat = statOf(pid);
  if (stat === undefined) return true;
  // A zombie has ended; only its parent doesn't know yet.
  return !/^\d+ \(.*\) [ZX]/s.test(stat) && (start === undefined || processStart(stat) === start);
}

/**
 * A process's start time: field 22 of /proc/PID/stat (proc_pid_stat(5)). Fields are counted from the last `)`, since
 * field 2, the program's name, may contain spaces and brackets.
 * @throws RangeError for any other text
 */
export function processStart(stat: string): string {
  const field = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  if (field === undefined || !/^\d+$/.test(field)) throw new RangeError(`"${stat}" is no /proc/PID/stat`);
  return field;
}

/** Text of /proc/PID/stat; `undefined` where there is none. */
function statOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
}
