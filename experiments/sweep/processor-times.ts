import { readdirSync, readFileSync } from 'node:fs';

/** The kernel's clock ticks per second, in which /proc counts (USER_HZ on every architecture of Linux that Node has). */
const TICKS = 100;

/** Seconds of processor time that each thread of a process has used, by thread number. Linux only. */
export function threadSeconds(pid: number): Map<number, number> {
  const folder = `/proc/${pid}/task`;
  return new Map(
    readdirSync(folder).map((thread) => {
      const stat = readFileSync(`${folder}/${thread}/stat`, 'utf8');
      // The name in parentheses may have spaces; utime and stime are the 12th and 13th of what follows it.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return [Number(thread), (Number(fields[11]) + Number(fields[12])) / TICKS];
    }),
  );
}

/** Seconds of processor time that a process has used. Linux only. */
export function processSeconds(pid: number): number {
  return [...threadSeconds(pid).values()].reduce((sum, seconds) => sum + seconds, 0);
}

/** Seconds that the processors of this machine have worked, for whichever program, and those of this process. */
export function busySeconds(): { readonly machine: number; readonly own: number } {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  const [user = 0, nice = 0, system = 0, , , irq = 0, softIrq = 0, steal = 0] = line
    .split(/\s+/)
    .slice(1)
    .map((ticks) => Number(ticks) / TICKS);
  const { user: ownUser, system: ownSystem } = process.cpuUsage();
  return { machine: user + nice + system + irq + softIrq + steal, own: (ownUser + ownSystem) / 1e6 };
}
